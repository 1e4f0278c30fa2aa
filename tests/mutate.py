"""Chooses what mutate.sh lets Stryker mutate, and reads from Stryker's report which mutants there are."""
import json
import os
import sys

SOURCE = "src/FastCgi.AspNetCore"
FOLDERS = ["Responses", "Requests", "Connections", "Execution", "Transport", "Linux", "Hosting",
           "Buffers", "Protocol", "Cgi", "Authentication", "Status", "Diagnostics"]
# P/Invoke declarations and texts of the log are not behaviour.
NOT_CODE = ("Diagnostics/FastCgiLog.cs", "Linux/Libc.cs")


def files(folder):
    for place, _, names in sorted(os.walk(os.path.join(SOURCE, folder))):
        for name in sorted(names):
            path = os.path.join(place, name)
            if name.endswith(".cs") and not path.endswith(NOT_CODE):
                yield path


def configure(folders):
    print(json.dumps({"stryker-config": {
        "project": "FastCgi.AspNetCore.csproj",
        # It only makes the mutants. One quick test is what it needs to begin.
        "test-projects": [os.path.abspath("tests/FastCgi.AspNetCore.UnitTests/FastCgi.AspNetCore.UnitTests.csproj")],
        "test-case-filter": "FullyQualifiedName~SourceTests.LogMessages_Ids",
        "mutate": [os.path.relpath(path, SOURCE) for folder in folders for path in files(folder)],
        "ignore-mutations": ["string"],
        # A check of what the construction guarantees: nothing fails without it.
        "ignore-methods": ["Require"],
        "coverage-analysis": "perTest",
        "configuration": "Release",
        "reporters": ["html"],
    }}, indent=2))


def extract(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    mark = ".report = "
    report, _ = json.JSONDecoder().raw_decode(text, text.index(mark) + len(mark))
    print(json.dumps(report))


if __name__ == "__main__":
    if sys.argv[1] == "configure":
        configure(sys.argv[2].split() or FOLDERS)
    else:
        extract(sys.argv[2])
