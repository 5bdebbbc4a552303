"""`python -m sklar` is the command `sklar`."""

from sklar.cli.main import main

if __name__ == "__main__":
    main()
