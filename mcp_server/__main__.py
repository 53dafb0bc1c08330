"""`python -m mcp_server` and the `remit` command."""

from mcp_server.cli.main import remit


def main() -> None:
    """Run the command line."""
    remit(prog_name="remit")


if __name__ == "__main__":
    main()
