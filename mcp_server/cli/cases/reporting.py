"""How a run of cases is told: plain text, JSON, JUnit XML."""

import json
from collections.abc import Sequence
from xml.etree import ElementTree

from mcp_server.cli.cases.running import CaseResult, End


def counts(results: Sequence[CaseResult]) -> dict[End, int]:
    """How many came out in each way."""
    return {end: sum(result.end is end for result in results) for end in End}


def as_text(results: Sequence[CaseResult]) -> str:
    """The failures, and last `N passed, N failed`."""
    lines = [line for result in results if result.end is End.FAILED for line in _failure(result)]
    count = counts(results)
    lines.append(f"{count[End.PASSED]} passed, {count[End.FAILED]} failed")
    return "\n".join(lines)


def _failure(result: CaseResult) -> list[str]:
    lines = [f"FAILED {result.file}:{result.line}: {result.name}", f"  want {result.want}", f"  got  {result.got}"]
    return [*lines, f"  {result.why}"] if result.why else lines


def as_json(results: Sequence[CaseResult]) -> str:
    """One object: the counts, and every case."""
    count = counts(results)
    cases = [
        {
            "file": str(result.file),
            "line": result.line,
            "name": result.name,
            "result": result.end.value,
            "want": result.want,
            "got": result.got,
            "why": result.why,
        }
        for result in results
    ]
    whole = {"passed": count[End.PASSED], "failed": count[End.FAILED], "cases": cases}
    return json.dumps(whole, ensure_ascii=False, indent=2)


def as_junit(results: Sequence[CaseResult]) -> str:
    """One test suite a file."""
    root = ElementTree.Element("testsuites")
    for file in dict.fromkeys(result.file for result in results):
        own = [result for result in results if result.file == file]
        count = counts(own)
        numbers = {"tests": len(own), "failures": count[End.FAILED], "skipped": 0, "errors": 0}
        suite = ElementTree.SubElement(root, "testsuite", {"name": str(file), **{key: str(number) for key, number in numbers.items()}})
        for result in own:
            _testcase(suite, result)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _testcase(suite: ElementTree.Element, result: CaseResult) -> None:
    place = {"name": _legal(result.name), "classname": result.file.stem, "file": str(result.file), "line": str(result.line)}
    case = ElementTree.SubElement(suite, "testcase", place)
    if result.end is End.FAILED:
        failure = ElementTree.SubElement(case, "failure", {"message": _legal(f"want {result.want}, got {result.got}")})
        failure.text = _legal(result.why)


def _legal(text: str) -> str:
    """XML has no place for most control characters."""
    return "".join(
        char if char in "\t\n" or 0x20 <= ord(char) < 0xD800 or 0xE000 <= ord(char) <= 0xFFFD or ord(char) >= 0x10000 else "\ufffd"
        for char in text
    )
