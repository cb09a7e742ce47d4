"""`python -m seq2set` is the command line."""

from seq2set.cli.app import main

if __name__ == "__main__":
    main()
