#!/usr/bin/env python3
"""What is to be known of a run of ctest, for whoever reads only the end of a log.

  scripts/test_report.py RESULTS.xml LOG --slowest                          the ten tests that took longest
  scripts/test_report.py RESULTS.xml LOG --failed LINES [--names FILE]      each test that failed, with its last lines; and
                                                                            their names in a line
  scripts/test_report.py RESULTS.xml LOG --lines TEXT                       lines of the tests' output that begin with TEXT

RESULTS.xml is what ctest --output-junit writes, LOG what --output-log does. With --failed the exit code is 1 when a test
failed, was never begun, or nothing is there to be read.
"""
import argparse
import pathlib
import re
import sys
import xml.etree.ElementTree as xml

STOPPED = "The stop time has been passed"


def cases_of(results):
    """The <testcase> elements; none of a file that is not there, or not whole."""
    try:
        return xml.parse(results).findall("testcase")
    except (OSError, xml.ParseError):
        return []


def reasons_of(log):
    """Why tests failed, by name, in the words of ctest's last list: '  12 - e2e/stop (Timeout)'."""
    _, found, listed = log.rpartition("The following tests FAILED:")
    return {} if not found else dict(re.findall(r"^\s*\d+ - (\S+) \((.*)\)$", listed, flags=re.M))


def failures(results, log):
    """(name, reason, seconds, last output) of each test that failed."""
    reasons = reasons_of(log)
    found = []
    for case in cases_of(results):
        name = case.get("name")
        if name in reasons or case.get("status") == "fail":
            found.append((name, reasons.pop(name, "Failed"), float(case.get("time") or 0),
                          (case.findtext("system-out") or "").rstrip("\n")))
        reasons.pop(name, None)
    return found + [(name, reason, 0.0, "") for name, reason in reasons.items()]


def report_failed(results, log, lines, names):
    found = failures(results, log)
    listed = [f"{name} ({reason})" for name, reason, _, _ in found]
    for name, reason, seconds, output in found:
        print(f"--- {name} ({reason}, {seconds:.1f} s), its last lines:")
        print("\n".join(output.split("\n")[-lines:]) if output else "(it said nothing)")
    if STOPPED in log:
        listed.append("tests that were not begun in time")
        print("--- out of time: tests that are not in the list above were never begun")
    if not cases_of(results):
        listed.append("ctest itself, which left no results")
        print("--- ctest left no results; the end of what it said:")
        print("\n".join(log.rstrip("\n").split("\n")[-lines:]))
    if names:
        names.write_text(", ".join(listed) + "\n")
    return 1 if listed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("log", type=pathlib.Path)
    parser.add_argument("--slowest", action="store_true")
    parser.add_argument("--failed", type=int, metavar="LINES")
    parser.add_argument("--names", type=pathlib.Path)
    parser.add_argument("--lines", metavar="TEXT")
    options = parser.parse_args()
    log = options.log.read_text(errors="replace") if options.log.exists() else ""
    if options.slowest:
        took = sorted(((float(case.get("time") or 0), case.get("name")) for case in cases_of(options.results)), reverse=True)
        print("\nThe slowest, in seconds:")
        for seconds, name in took[:10]:
            print(f"{seconds:8.1f}  {name}")
    if options.lines:
        for case in cases_of(options.results):
            for line in (case.findtext("system-out") or "").splitlines():
                if line.startswith(options.lines):
                    print(f"{case.get('name')}: {line}")
    if options.failed is not None:
        return report_failed(options.results, log, options.failed, options.names)
    return 0


if __name__ == "__main__":
    sys.exit(main())
