"""Reads JUnit reports: which cases ran, which failed. Several suites are summed."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from runner.lab.text import one_line

_ELEMENTS = 200_000
_ATTRIBUTES = 4 * _ELEMENTS
_ATTRIBUTE = re.compile(rb"=\s*[\"']")


@dataclass(frozen=True)
class Report:
    """Names of cases; ``skipped`` ones were not executed. ``ids`` (executed) and ``failed_ids``: as
    ``classname::name``, where a case has a class.
    """

    executed: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)
    skipped: set[str] = field(default_factory=set)
    ids: set[str] = field(default_factory=set)
    failed_ids: set[str] = field(default_factory=set)


def read_junit(content: bytes | None) -> Report:
    """No report, or one that is no JUnit file, is an empty one: nothing was executed as far as anybody can prove.

    Its author may be a contestant: nothing that it can hold raises, or takes minutes.
    """
    from xml.etree.ElementTree import ParseError

    from junitparser.junitparser import JUnitXmlError

    if content is None or content.count(b"<") > 2 * _ELEMENTS:
        return Report()
    if sum(1 for _ in _ATTRIBUTE.finditer(content)) > _ATTRIBUTES:
        return Report()
    try:
        return _read(content)
    except (JUnitXmlError, ParseError, ValueError, LookupError, RecursionError):  # an encoding nobody knows; too deep
        return Report()


def _read(content: bytes) -> Report:
    from junitparser import Error, Failure, JUnitXml, Skipped, TestSuite

    report = Report()
    xml = JUnitXml.fromstring(content)
    suites = [xml] if isinstance(xml, TestSuite) else list(xml)
    while suites:
        suite = suites.pop()
        suites += list(suite.testsuites())  # type: ignore[no-untyped-call]  # the library is half typed
        for case in suite:
            name = one_line(case.name or "")
            known_as = f"{one_line(str(case.classname))}::{name}"
            kinds = {type(r) for r in case.result}
            if Skipped in kinds and not kinds & {Error, Failure}:
                report.skipped.add(name)
                continue
            report.executed.add(name)
            report.ids.add(known_as)
            if kinds & {Error, Failure}:
                report.failed.add(name)
                report.failed_ids.add(known_as)
    return report
