"""`python -m willowbark` is the command line."""

from willowbark.teams.faces.cli import main

if __name__ == "__main__":
    main()
