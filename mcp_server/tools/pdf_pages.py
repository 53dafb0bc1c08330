"""PDF from standard input to the text of some pages, as JSON on standard output. Run apart: `apart("mcp_server.tools.pdf_pages", …)`."""

import io
import json
import logging
import sys
import time

LONGEST = 50 * 1024
"""Characters of all pages together; what a read shows."""

LARGEST = 100 * 1024 * 1024
"""Bytes read; a file that grew past what its reader was told is cut there."""

PATIENCE = 20.0
"""Seconds after which no further page is begun."""

MEMORY = 2 * 1024 * 1024 * 1024
"""Bytes of address space: the document, and what its streams unpack to."""


def extracted(content: bytes, first: int, count: int) -> dict[str, object]:
    """`total`, `texts` and `cut`; or `problem`."""
    from pypdf import PdfReader  # noqa: PLC0415 - optional: the extra `pdf`
    from pypdf.errors import PyPdfError  # noqa: PLC0415 - likewise

    started = time.monotonic()
    try:
        reader = PdfReader(io.BytesIO(content))
        if reader.is_encrypted and not reader.decrypt(""):
            return {"problem": "the document is encrypted, and only its password opens it"}
        total = len(reader.pages)
        texts: list[str] = []
        left = LONGEST
        for number in range(first - 1, min(first - 1 + count, total)):
            text = reader.pages[number].extract_text()
            if texts and (len(text) > left or time.monotonic() - started > PATIENCE):
                break
            texts.append(text[:left])
            if len(text) > left:
                return {"total": total, "texts": texts, "cut": True}
            left -= len(text)
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError, MemoryError, OSError) as error:
        return {"problem": f"the document could not be read: {str(error)[:200] or type(error).__name__}"}
    return {"total": total, "texts": texts, "cut": False}


def main(first: str, count: str) -> None:
    """From standard input to standard output."""
    if sys.platform != "win32":
        import resource  # noqa: PLC0415 - POSIX only

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    logging.disable(logging.CRITICAL)
    told = extracted(sys.stdin.buffer.read(LARGEST), int(first), int(count))
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])
