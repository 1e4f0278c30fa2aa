"""Runs the tests on mutants that Stryker has compiled into the library, in processes that stay: see mutate.sh."""
import collections
import json
import os
import queue
import random
import subprocess
import sys
import threading
import time

SOURCE = "src/FastCgi.AspNetCore/"
PROJECTS = ["UnitTests", "InMemoryTests", "SocketTests"]
BATCHES = [10, 40, 200]
# A test that takes longer, in milliseconds, comes when all others have passed.
SLOW = 2_000
# What the tests of an assembly may take for one mutant, in milliseconds: those that are most likely to fail come first.
BUDGETS = {"UnitTests": 30_000, "InMemoryTests": 45_000, "SocketTests": 10_000}
# Of these folders, sockets are most of it.
SOCKET_FOLDERS = {"Transport", "Linux", "Hosting"}
SOCKET_BUDGET = 40_000


class Worker:
    """A process with one test assembly."""

    def __init__(self, root, project, mutant=None):
        self.name = f"FastCgi.AspNetCore.{project}"
        folder = f"{root}/tests/{self.name}/bin/Release/net10.0"
        command = ["dotnet", "exec", "--depsfile", f"{self.name}.deps.json", "--runtimeconfig", f"{self.name}.runtimeconfig.json",
                   "MutantWorker.dll", f"{folder}/{self.name}.dll"] + ([str(mutant)] if mutant is not None else [])
        # A mutant that allocates for ever meets this limit, and not that of the machine.
        environment = dict(os.environ, DOTNET_GCHeapHardLimit="0x60000000", DOTNET_gcServer="0", DOTNET_DbgEnableMiniDump="0")
        self.process = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True, bufsize=1, start_new_session=True)
        self.lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.ready = self._line(120)

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))
        self.lines.put(None)

    def _line(self, seconds):
        try:
            return self.lines.get(timeout=seconds)
        except queue.Empty:
            return None

    def ask(self, command, seconds):
        """The lines of the answer; None if it does not come, or the process ends."""
        answer, end = [], time.monotonic() + seconds
        try:
            self.process.stdin.write(command + "\n")
        except OSError:
            return None
        while (line := self._line(max(0.0, end - time.monotonic()))) != "done":
            if line is None:
                return None
            answer.append(line)
        return answer

    def close(self):
        try:
            os.killpg(self.process.pid, 9)
        except ProcessLookupError:
            pass
        self.process.wait()


class Tests:
    """The tests of an assembly: how long each takes, and which mutants it reaches."""

    def __init__(self, root, project):
        self.project = project
        path = f"{root}/{project}.cover.json"
        if not os.path.exists(path):
            worker = Worker(root, project)
            names = dict(line.split("\t") for line in worker.ask("list", 120))
            rows = worker.ask("cover", 3600)
            worker.close()
            if rows is None:
                sys.exit(f"The tests of {project} did not end.")
            with open(path, "w", encoding="utf-8") as file:
                json.dump([[names[row.split(" ")[0]], *row.split(" ")] for row in rows], file)
        with open(path, encoding="utf-8") as file:
            rows = json.load(file)
        self.time, self.name, self.reached = {}, {}, collections.defaultdict(list)
        for name, number, taken, passed, mutants in rows:
            test = int(number)
            self.name[test] = name
            if passed != "1":
                print(f"{name} fails without a mutant. It is left out.", flush=True)
                continue
            self.time[test] = int(taken)
            for mutant in mutants.split(","):
                if mutant:
                    self.reached[int(mutant)].append(test)
        self.breadth = collections.Counter(test for tests in self.reached.values() for test in tests)


class Runner(threading.Thread):
    """Takes mutants and says what becomes of them."""

    def __init__(self, root, tests, mutants, kills, report):
        super().__init__(daemon=True)
        self.root, self.tests, self.mutants, self.kills, self.report = root, tests, mutants, kills, report
        self.workers = {}

    def run(self):
        while True:
            try:
                mutant = self.mutants.get_nowait()
            except queue.Empty:
                for worker in self.workers.values():
                    worker.close()
                return
            started = time.monotonic()
            try:
                status, by = self.judge(mutant)
            except Exception as exception:  # pylint: disable=broad-except
                status, by = "Error", repr(exception)
            self.report(mutant, status, by, time.monotonic() - started)

    def worker(self, project, mutant=None):
        if mutant is not None:
            return Worker(self.root, project, mutant)
        if project not in self.workers:
            self.workers[project] = Worker(self.root, project)
        return self.workers[project]

    def drop(self, project):
        self.workers.pop(project).close()

    def judge(self, mutant):
        number, file = int(mutant["id"]), mutant["file"]
        reached = False
        for tests in self.tests:
            candidates = tests.reached.get(number, [])
            if mutant["static"]:
                candidates = list(tests.time)
            if not candidates:
                continue
            reached = True
            order = sorted(candidates, key=lambda test: (tests.time[test] > SLOW, -self.kills[file, tests.project, test],
                                                         tests.breadth[test], tests.time[test]))
            found = self.judge_by(tests, number, within_budget(tests, order, mutant["folder"]), mutant["static"])
            if found:
                if found[1] >= 0:
                    self.kills[file, tests.project, found[1]] += 1
                return found[0], f"{tests.project}: {tests.name.get(found[1], '?')}"
        return ("Survived" if reached else "NoCoverage"), ""

    def judge_by(self, tests, number, order, is_static):
        start = 0
        for size in BATCHES + [len(order)]:
            batch = order[start:start + size]
            start += size
            while batch:
                found = self.run_batch(tests, number, batch, is_static)
                if found is None:
                    break
                if found[0] != "Unsteady":
                    return found
                batch = [test for test in batch if test != found[1]]
        return None

    def run_batch(self, tests, number, batch, is_static):
        if is_static:
            worker = self.worker(tests.project, number)
            try:
                answer = worker.ask(f"run {number} {','.join(map(str, batch))}", self.limit(tests, batch)) if worker.ready else None
            finally:
                worker.close()
            return ("Timeout", -1) if answer is None else None if answer[0] == "survived" else ("Killed", int(answer[0].split(" ")[1]))
        answer = self.ask(tests, number, batch)
        if answer is None:
            self.drop(tests.project)
            return "Timeout", -1
        if answer[0] == "survived":
            return None
        test = int(answer[0].split(" ")[1])
        # What a mutant has left behind may fail the next test, and some tests do not like company: it counts only if it is the mutant.
        if test < 0 or self.ask(tests, -1, [test]) != ["survived"]:
            self.drop(tests.project)
        again = self.ask(tests, number, [test]) if test >= 0 else None
        if again is None:
            if test >= 0:
                self.drop(tests.project)
            return "Killed", test
        return ("Unsteady" if again == ["survived"] else "Killed"), test

    def ask(self, tests, number, batch):
        return self.worker(tests.project).ask(f"run {number} {','.join(map(str, batch))}", self.limit(tests, batch))

    @staticmethod
    def limit(tests, batch):
        return 20 + 4 * sum(tests.time[test] for test in batch) / 1000


def within_budget(tests, order, folder):
    """The first of them, as long as there is time."""
    left = SOCKET_BUDGET if tests.project == "SocketTests" and folder in SOCKET_FOLDERS else BUDGETS[tests.project]
    chosen = []
    for test in order:
        left -= tests.time[test]
        if left < 0 and chosen:
            break
        chosen.append(test)
    return chosen


def read_mutants(path):
    with open(path, encoding="utf-8") as file:
        found = json.load(file)["files"]
    for name, source in sorted(found.items()):
        short = name.replace("\\", "/").split(SOURCE)[-1]
        lines = source["source"].splitlines()
        for mutant in source["mutants"]:
            if mutant["status"] in ("Ignored", "CompileError"):
                continue
            at, to = mutant["location"]["start"], mutant["location"]["end"]
            was = lines[at["line"] - 1][at["column"] - 1:to["column"] - 1 if to["line"] == at["line"] else None]
            yield {"id": mutant["id"], "file": short, "folder": short.split("/")[0], "line": at["line"], "kind": mutant["mutatorName"],
                   "was": was, "is": mutant.get("replacement"), "static": bool(mutant.get("static"))}


def main(root, folders, sample, seed, output):
    mutants = list(read_mutants(f"{root}/report.json"))
    chosen = []
    for folder in folders or sorted({mutant["folder"] for mutant in mutants}):
        of_folder = [mutant for mutant in mutants if mutant["folder"] == folder]
        chosen += random.Random(f"{seed} {folder}").sample(of_folder, min(sample or len(of_folder), len(of_folder)))
    random.Random(seed).shuffle(chosen)
    tests = [Tests(root, project) for project in PROJECTS if os.path.exists(f"{root}/tests/FastCgi.AspNetCore.{project}/bin")]
    kills, results, lock = collections.Counter(), [], threading.Lock()

    def note(mutant, status, by, taken):
        with lock:
            results.append({**mutant, "status": status, "by": by, "seconds": round(taken, 1)})
            with open(output, "w", encoding="utf-8") as file:
                json.dump(results, file, indent=1)
            print(f"{len(results)}/{len(chosen)} {status} {mutant['file']}:{mutant['line']} {taken:.1f} s {by}", flush=True)

    waiting = queue.Queue()
    for mutant in chosen:
        waiting.put(mutant)
    runners = [Runner(root, tests, waiting, kills, note) for _ in range(os.cpu_count() or 1)]
    for runner in runners:
        runner.start()
    for runner in runners:
        runner.join()
    summarize(results)


def summarize(results):
    print(f"\n{'folder':<16}{'mutants':>8}{'killed':>8}{'survived':>10}{'score':>8}")
    for folder in sorted({result["folder"] for result in results}) + [""]:
        of_folder = [result for result in results if not folder or result["folder"] == folder]
        killed = sum(result["status"] in ("Killed", "Timeout") for result in of_folder)
        print(f"{folder or 'all':<16}{len(of_folder):>8}{killed:>8}{len(of_folder) - killed:>10}{100 * killed / len(of_folder):>7.0f}%")
    print("\nSurvivors:")
    for result in sorted(results, key=lambda result: (result["file"], result["line"])):
        if result["status"] not in ("Killed", "Timeout"):
            print(f"{result['file']}:{result['line']} {result['kind']}, {result['status']}: {result['was']} => {result['is']}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2].split(), int(sys.argv[3]), sys.argv[4], sys.argv[5])
