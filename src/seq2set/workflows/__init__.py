"""One function per verb, used by the command line, the server and the estimator."""
