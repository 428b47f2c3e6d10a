"""``python -m strop`` is the program ``strop``."""

from strop.cli.main import run

if __name__ == "__main__":
    run()
