"""Tables, figures and pages of experiments."""
