import zlib

import anyio
import pytest
from pypdf import PdfReader, PdfWriter

from mcp_server.errors import ToolFailure
from mcp_server.tools import pdf
from mcp_server.tools.read import ReadTool
from tests.bounds import LONG
from tests.tools.lending import Lent

READ = ReadTool()


def document(*pages: bytes) -> bytes:
    """A document whose pages show these content streams."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>"]
    kids = b" ".join(b"%d 0 R" % (4 + 2 * n) for n in range(len(pages)))
    objects.append(b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(pages)))
    objects.append(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    for n, stream in enumerate(pages):
        rest = b"/MediaBox [0 0 600 800] /Resources << /Font << /F1 3 0 R >> >>"
        objects.append(b"<< /Type /Page /Parent 2 0 R %s /Contents %d 0 R >>" % (rest, 5 + 2 * n))
        packed = zlib.compress(stream)
        objects.append(b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(packed), packed))
    out = bytearray(b"%PDF-1.4\n")
    places: list[int] = []
    for number, content in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    at = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1) + b"".join(b"%010d 00000 n \n" % place for place in places)
    return bytes(out + b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, at))


def saying(text: str) -> bytes:
    return b"BT /F1 12 Tf 72 700 Td (%s) Tj ET" % text.encode()


@pytest.fixture
def three() -> bytes:
    return document(saying("First page"), saying("Second page"), b"")


async def test_the_text_of_pages_is_shown(lent: Lent, three: bytes) -> None:
    lent.write("a.pdf", three)
    assert await lent.text(READ, filePath="a.pdf") == (
        "--- page 1 ---\nFirst page\n\n--- page 2 ---\nSecond page\n\n--- page 3 ---\n(no text; perhaps a picture)\n\n"
        "(a.pdf, a PDF document: end, 3 pages)"
    )


async def test_offset_and_limit_count_pages(lent: Lent, three: bytes) -> None:
    lent.write("a.pdf", three)
    assert await lent.text(READ, filePath="a.pdf", offset=2, limit=1) == (
        "--- page 2 ---\nSecond page\n\n(a.pdf, a PDF document: pages 2-2 of 3; go on with offset=3)"
    )
    with pytest.raises(ToolFailure, match=r"a\.pdf has 3 pages; offset 4 lies behind its end"):
        await lent.call(READ, filePath="a.pdf", offset=4)


async def test_what_is_too_long_to_show_goes_on_at_the_next_page(lent: Lent) -> None:
    lent.write("a.pdf", document(*[saying("word " * 4000)] * 4))
    text = await lent.text(READ, filePath="a.pdf")
    assert "pages 1-2 of 4; go on with offset=3" in text
    lent.write("b.pdf", document(saying("word " * 20_000)))
    assert "end, 1 pages (the last one is cut)" in await lent.text(READ, filePath="b.pdf")


async def test_an_encrypted_document_is_told_as_such(lent: Lent, three: bytes) -> None:
    path = lent.write("a.pdf", three)
    writer = PdfWriter(clone_from=PdfReader(path))
    writer.encrypt(user_password="x", algorithm="RC4-128")  # noqa: S106 - the password of a test's own document
    writer.write(path)
    with pytest.raises(ToolFailure, match="the document is encrypted"):
        await lent.call(READ, filePath="a.pdf")


@pytest.mark.parametrize("content", [b"%PDF-1.7\n\0", b"%PDF-1.4\n\0trailer << /Root 1 0 R >>\n%%EOF"])
async def test_a_broken_document_is_told_as_such(lent: Lent, content: bytes) -> None:
    lent.write("a.pdf", content)
    with pytest.raises(ToolFailure, match=r"a.pdf: the document could not be read"):
        await lent.call(READ, filePath="a.pdf")


async def test_a_document_that_unpacks_without_end_is_bounded(lent: Lent) -> None:
    lent.write("a.pdf", document(b"q Q " * 20_000_000))
    with anyio.fail_after(LONG), open(lent.workspace / "a.pdf", "rb") as file, pytest.raises(ToolFailure) as refused:  # noqa: ASYNC230 - a small file of the test's own
        await pdf.read_pages(file.fileno(), "a.pdf", lent.context.environment, first=1, count=1, seconds=2)
    assert "a.pdf" in str(refused.value)


@pytest.mark.parametrize(
    ("size", "library", "words"), [(10, False, "by installing remit[pdf]"), (pdf.LARGEST + 1, True, "such up to 104,857,600 bytes")]
)
def test_what_cannot_be_read_here_is_told_with_the_reason(size: int, library: bool, words: str) -> None:
    with pytest.raises(ToolFailure) as refused:
        pdf.refuse_unless_fit("a.pdf", size, library=library)
    assert words in str(refused.value)


async def test_the_very_file_that_was_judged_is_read(lent: Lent, three: bytes) -> None:
    lent.write("real.pdf", three)
    valid, context = lent.judged(READ, filePath="real.pdf")
    (lent.workspace / "real.pdf").unlink()
    (lent.workspace / "real.pdf").symlink_to(lent.write("other.pdf", document(saying("other"))))
    with pytest.raises(ToolFailure, match="changed after it was allowed"):
        await READ.run(valid, context)
