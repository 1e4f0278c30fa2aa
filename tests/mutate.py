"""Chooses what mutate.sh mutates, and sums up what became of it."""
import json
import os
import random
import re
import sys

SOURCE = "src/FastCgi.AspNetCore"
FOLDERS = ["Responses", "Requests", "Connections", "Execution", "Transport", "Linux", "Hosting",
           "Buffers", "Protocol", "Cgi", "Authentication", "Status", "Diagnostics"]
# Declarations, comments and braces have nothing to mutate; P/Invoke declarations and texts of the log are not behaviour.
NOT_CODE = re.compile(r"^\s*(//|/\*|using |namespace |\[|#|[{}]+;?$|$|(public|private|internal|protected).*(class|struct|enum|const|partial|delegate) )")
LOG_TEXT = ("Diagnostics/FastCgiLog.cs", "Linux/Libc.cs")
KILLED = {"Killed", "Timeout"}
SURVIVED = {"Survived", "NoCoverage"}


def statements(path):
    """The spans, in characters, of the statements and headers of a file: from a line of code to the line that ends it."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        lines = file.read().splitlines(keepends=True)
    start, first = 0, None
    for line in lines:
        code = line.split("//")[0].rstrip()
        if first is None and not NOT_CODE.match(line):
            first = start
        start += len(line)
        if first is not None and (code.endswith((";", "{", "}", ",")) or re.match(r"\s*(if|while|for|foreach|lock|using|else)\b.*\)$", code)):
            if re.search(r"[(=<>?+\-!]|return|throw|continue|break", code):
                yield first, start
            first = None


def files(folder):
    for place, _, names in sorted(os.walk(os.path.join(SOURCE, folder))):
        for name in sorted(names):
            path = os.path.join(place, name)
            if name.endswith(".cs") and not path.endswith(LOG_TEXT):
                yield path


def configure(folders, sample, seed, tests):
    mutate = []
    for folder in folders:
        if not sample:
            mutate += [os.path.relpath(path, SOURCE) for path in files(folder)]
            continue
        choice = [(path, span) for path in files(folder) for span in statements(path)]
        for path, (start, end) in random.Random(f"{seed} {folder}").sample(choice, min(sample, len(choice))):
            mutate.append(f"{os.path.relpath(path, SOURCE)}{{{start}..{end}}}")
    print(json.dumps({"stryker-config": {
        "project": "FastCgi.AspNetCore.csproj",
        "test-projects": [os.path.abspath(f"tests/FastCgi.AspNetCore.{name}/FastCgi.AspNetCore.{name}.csproj") for name in ("UnitTests", "InMemoryTests")],
        "mutate": mutate,
        "ignore-mutations": ["string"],
        # A check of what the construction guarantees: nothing fails without it.
        "ignore-methods": ["Require"],
        "test-case-filter": "Category!=Exploration" + (f"&FullyQualifiedName~{tests}" if tests else ""),
        "coverage-analysis": "perTest",
        "configuration": "Release",
        "concurrency": 2,
        "reporters": ["json"],
    }}, indent=2))


def report(path, folders):
    with open(path, encoding="utf-8") as file:
        found = json.load(file)["files"]
    survivors = []
    print(f"{'folder':<16}{'mutants':>8}{'killed':>8}{'survived':>10}{'score':>8}")
    for folder in folders:
        killed = survived = 0
        for name, source in sorted(found.items()):
            short = name.replace("\\", "/").split(SOURCE + "/")[-1]
            if not short.startswith(folder + "/"):
                continue
            for mutant in source["mutants"]:
                killed += mutant["status"] in KILLED
                if mutant["status"] in SURVIVED:
                    survived += 1
                    at, to = mutant["location"]["start"], mutant["location"]["end"]
                    line = source["source"].splitlines()[at["line"] - 1]
                    was = line[at["column"] - 1:to["column"] - 1 if to["line"] == at["line"] else None]
                    survivors.append(f"{short}:{at['line']} {mutant['mutatorName']}, {mutant['status']}: {was} => {mutant.get('replacement')}")
        if killed + survived:
            print(f"{folder:<16}{killed + survived:>8}{killed:>8}{survived:>10}{100 * killed / (killed + survived):>7.0f}%")
    print("\n".join(["", "Survivors:", *survivors]))


if __name__ == "__main__":
    chosen = sys.argv[2].split() or FOLDERS
    if sys.argv[1] == "configure":
        configure(chosen, int(sys.argv[3]), sys.argv[4], sys.argv[5])
    else:
        report(sys.argv[3], chosen)
