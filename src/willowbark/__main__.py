"""`python -m willowbark` is the command line."""

from willowbark.teams.cli import main

if __name__ == "__main__":
    main()
