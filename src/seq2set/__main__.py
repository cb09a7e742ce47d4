"""`python -m seq2set` is the command line."""

from seq2set.cli.app import run_process

if __name__ == "__main__":
    run_process()
