#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Folders, archives, packed streams and standard input become the same trace as the plain files; hostile archives are
refused, or give what is sound in them, and write nothing outside.

Usage: archives.py FOURWALLS-CLI
"""
import bz2
import gzip
import io
import json
import lzma
import os
import pickle
import socket
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile
from pathlib import Path

CLI = str(Path(sys.argv.pop(1)).resolve()) if len(sys.argv) > 1 else ""


def profile(rank):
    events = [
        {"ph": "X", "cat": "cpu_op", "name": f"op{i}", "pid": 1, "tid": 1, "ts": 1700000000000000 + 10 * i, "dur": 5}
        for i in range(200)
    ]
    return json.dumps({"distributedInfo": {"rank": rank, "world_size": 2}, "traceEvents": events}).encode()


class Archives(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.folder = Path(self._folder.name)
        self.inside = self.folder / "inside"
        self.inside.mkdir()
        self.files = {f"job/rank{rank}.json": profile(rank) for rank in (0, 1)}
        self.files["job/notes.txt"] = b"notes"
        self.files["job/communication.json"] = b"{}"

    def tearDown(self):
        # Nothing is left beside the output, and nothing was written outside of it.
        self.assertEqual([p.name for p in self.inside.iterdir() if "fourwalls-unpacked" in p.name], [])
        self._folder.cleanup()

    def run_cli(self, *paths, stdin=None, output=True, path=None):
        out = ["-o", str(self.inside / "run.fourwalls")] if output else []
        run = subprocess.run(
            [CLI, "import", *map(str, paths), *out, "--json"],
            capture_output=True,
            input=stdin,
            check=False,
            env={**os.environ, **({"PATH": path} if path else {})},
        )
        return run.returncode, run.stdout.decode(), run.stderr.decode()

    def expect(self, *paths, ranks=2, stdin=None):
        code, out, said = self.run_cli(*paths, stdin=stdin)
        self.assertEqual(code, 0, said)
        answer = json.loads(out)
        self.assertEqual((answer["ranks"], answer["slices"]), (ranks, 200 * ranks))

    def tar(self, name, mode):
        path = self.folder / name
        with tarfile.open(path, mode) as archive:
            for member, data in self.files.items():
                info = tarfile.TarInfo(member)
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
        return path

    def test_tars(self):
        for name, mode in (("a.tar", "w"), ("a.tar.gz", "w:gz"), ("a.tar.xz", "w:xz"), ("a.tar.bz2", "w:bz2")):
            with self.subTest(name):
                self.expect(self.tar(name, mode))

    def test_zip(self):
        path = self.folder / "a.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for member, data in self.files.items():
                archive.writestr(member, data)
        self.expect(path)

    def test_streams(self):
        for name, pack in (("rank0.json.xz", lzma.compress), ("rank0.json.bz2", bz2.compress)):
            with self.subTest(name):
                path = self.folder / name
                path.write_bytes(pack(profile(0)))
                self.expect(path, ranks=1)

    def test_zstd(self):
        # A frame of blocks that are stored: what packs zstd is in no library of this Python.
        data, frame = profile(0), b"\x28\xb5\x2f\xfd\x00\x58"
        pieces = [data[i : i + 10000] for i in range(0, len(data), 10000)]
        for i, piece in enumerate(pieces):
            frame += ((len(piece) << 3) | (i == len(pieces) - 1)).to_bytes(3, "little") + piece
        path = self.folder / "rank0.json.zst"
        path.write_bytes(frame)
        self.expect(path, ranks=1)

    def test_folder(self):
        for member, data in self.files.items():
            path = self.folder / "deep" / "er" / member
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        (self.folder / "deep" / ".hidden.json").write_bytes(profile(1))
        os.symlink("/", self.folder / "deep" / "root")
        self.expect(self.folder / "deep")

    def test_standard_input(self):
        self.expect("-", ranks=1, stdin=profile(0))
        self.expect("-", stdin=self.tar("b.tar.gz", "w:gz").read_bytes())

    def test_a_folder_without_profiles(self):
        (self.folder / "empty").mkdir()
        code, _, said = self.run_cli(self.folder / "empty")
        self.assertEqual(code, 1)
        self.assertIn("a folder without profiles", said)

    def test_checksum_behind_the_end(self):
        # The JSON has ended before the last bytes, which are the checksum: it is looked at.
        packed = bytearray(gzip.compress(profile(0) + b" " * 3000))
        packed[-8] ^= 1
        path = self.folder / "rank0.json.gz"
        path.write_bytes(packed)
        code, out, said = self.run_cli(path)
        self.assertEqual(code, 0, said)
        names = [each["name"] for each in json.loads(out)["audit"] if each["severity"] == "dropped"]
        self.assertTrue(any(name.startswith("packed_stream") for name in names), names)

    def test_a_cut_stream(self):
        path = self.folder / "rank0.json.xz"
        packed = lzma.compress(profile(0) * 50)
        path.write_bytes(packed[: len(packed) // 2])
        code, out, said = self.run_cli(path)
        dropped = [each for each in json.loads(out)["audit"] if each["severity"] == "dropped"] if code == 0 else []
        self.assertTrue(code == 1 or dropped, said)

    def test_traversal_and_links(self):
        path = self.folder / "evil.tar"
        with tarfile.open(path, "w") as archive:
            for name in ("../../outside.json", "/abs/rank1.json", "sub/../../rank0.json"):
                data = profile(len(name) % 2)
                info = tarfile.TarInfo(name)
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
            link = tarfile.TarInfo("rank9.json")
            link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
            archive.addfile(link)
            hard = tarfile.TarInfo("rank8.json")
            hard.type, hard.linkname = tarfile.LNKTYPE, "../../outside.json"
            archive.addfile(hard)
        before = sorted(p.name for p in self.folder.iterdir())
        self.run_cli(path)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), before)
        self.assertFalse((self.folder.parent / "outside.json").exists())

    def test_a_bomb(self):
        path = self.folder / "bomb.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            with archive.open("rank0.json", "w", force_zip64=True) as member:
                member.write(b'{"traceEvents": [')
                for _ in range(400):
                    member.write(b" " * (1 << 20))
        code, _, said = self.run_cli(path)
        self.assertEqual(code, 1)
        self.assertIn("unpacks to more than", said)

    def test_many_members(self):
        path = self.folder / "many.tar.gz"
        block = tarfile.TarInfo("x").tobuf() * 1000
        with gzip.open(path, "wb", compresslevel=1) as out:
            for _ in range(201):
                out.write(block)
        code, _, said = self.run_cli(path)
        self.assertEqual(code, 1)
        self.assertIn("more than 200000 files", said)

    def test_a_zip_that_does_not_fit_its_checksum(self):
        path = self.folder / "bad.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
            archive.writestr("rank0.json", profile(0) + b" " * 100)
        data = bytearray(path.read_bytes())
        data[data.index(b" " * 100) + 50] = ord("\n")
        path.write_bytes(data)
        code, out, said = self.run_cli(path)
        self.assertEqual(code, 0, said)
        self.assertIn("archive_damaged", [each["name"] for each in json.loads(out)["audit"]])

    def test_an_archive_that_is_cut_between_members(self):
        path = self.tar("a.tar.gz", "w:gz")
        unpacked = gzip.decompress(path.read_bytes())
        packed = gzip.compress(unpacked)
        path.write_bytes(packed[:-9])
        code, out, said = self.run_cli(path)
        self.assertEqual(code, 0, said)
        dropped = [each["name"] for each in json.loads(out)["audit"] if each["severity"] == "dropped"]
        self.assertEqual(dropped, ["archive_damaged"])

    def test_names_that_are_no_ascii(self):
        path = self.folder / "names.zip"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("\u8bad\u7ec3/rank1.json", profile(1))
            archive.writestr("\u8bad\u7ec3/rank0.json", profile(0))
        self.expect(path)
        code, out, said = self.run_cli(path, "--list", output=False)
        self.assertEqual(code, 0, said)
        self.assertIn("\u8bad\u7ec3/rank1.json", json.loads(out)["files"][0]["file"])

    def test_the_list(self):
        for member, data in self.files.items():
            path = self.folder / "run" / member
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        (self.folder / "run" / "no_rank.json").write_bytes(profile(0).replace(b"distributedInfo", b"other"))
        (self.folder / "run" / "settings.json").write_bytes(b'{"name": "model"}')
        code, out, said = self.run_cli(self.folder / "run", "--list", output=False)
        self.assertEqual(code, 0, said)
        answer = json.loads(out)
        self.assertEqual([(Path(f["file"]).name, f["rank"]) for f in answer["files"]],
                         [("rank0.json", 0), ("rank1.json", 1), ("no_rank.json", None)])
        self.assertEqual(answer["left_alone_count"], 3)
        self.assertEqual(sorted(Path(name).name for name in answer["left_alone"]),
                         ["communication.json", "notes.txt", "settings.json"])

    def folder_of(self, files):
        folder = self.folder / "run"
        for name, data in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        return folder

    def audit_of(self, *paths, ranks=2):
        code, out, said = self.run_cli(*paths)
        self.assertEqual(code, 0, said)
        answer = json.loads(out)
        self.assertEqual(answer["ranks"], ranks)
        return {each["name"]: (each["severity"], each["count"], each["detail"]) for each in answer["audit"]}

    def test_other_pickles_and_databases_beside_profiles(self):
        # An optimizer's state, a dump of the flight recorder, a tracker's database: none of them is a profile.
        database = self.folder / "tracker.db"
        with sqlite3.connect(database) as open_database:
            open_database.execute("CREATE TABLE runs(id INTEGER)")
        open_database.close()
        dump = {"version": "2.4", "pg_config": {"0": {"name": "0"}}, "entries": []}
        folder = self.folder_of({
            "rank0.json": profile(0), "rank1.json": profile(1), "tracker.db": database.read_bytes(),
            "opt.pkl": pickle.dumps({"state": {0: [1.0]}, "param_groups": []}), "nccl_trace_rank_0": pickle.dumps(dump),
        })
        audit = self.audit_of(folder)
        self.assertEqual(audit["files_left_alone"][:2], ("info", 3))
        self.assertNotIn("files_unreadable", audit)
        # Named, each is refused with what it is.
        for name, says in (("opt.pkl", "no memory snapshot"), ("nccl_trace_rank_0", "fourwalls-cli hang"),
                           ("tracker.db", "no Nsight Systems export")):
            code, _, said = self.run_cli(folder / name)
            self.assertEqual(code, 1)
            self.assertIn(says, said)

    def test_a_snapshot_beside_profiles_is_taken(self):
        snapshot = {"segments": [{"device": 0, "address": 1 << 30, "total_size": 1 << 21, "stream": 0, "blocks": []}],
                    "device_traces": [[]]}
        folder = self.folder_of({"rank0.json": profile(0), "memory_rank0.pickle": pickle.dumps(snapshot)})
        self.assertNotIn("files_left_alone", self.audit_of(folder, ranks=1))

    def test_ranks_that_cannot_be_read_are_said_to_be_lost(self):
        whole = gzip.compress(profile(2))
        folder = self.folder_of({
            "rank0.pt.trace.json.gz": gzip.compress(profile(0)), "rank1.pt.trace.json.gz": gzip.compress(profile(1)),
            "rank2.pt.trace.json.gz": whole[:60], "rank3.pt.trace.json": b"", "rank4.json": b'{"traceEvents": []}',
            "rank5.json": b'{"schemaVersion": 1, "devi', "rank6.pickle": b"\x80\x04}(\x8c\x08segments",
        })
        severity, count, detail = self.audit_of(folder)["files_unreadable"]
        self.assertEqual((severity, count), ("dropped", 5))
        for rank in range(2, 7):
            self.assertIn(f"rank{rank}.", detail)
        run = subprocess.run([CLI, "check", str(self.inside / "run.fourwalls")], capture_output=True, check=False)
        self.assertIn(b"files unreadable", run.stdout + run.stderr)
        code, out, said = self.run_cli(folder, "--list", output=False)
        self.assertEqual(code, 0, said)
        self.assertEqual(json.loads(out)["unreadable_count"], 3)  # those that their beginning tells
        # In an archive, too; and a file that somebody names is never left out.
        path = self.folder / "run.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for file in sorted(folder.iterdir()):
                archive.write(file, file.name)
        self.assertEqual(self.audit_of(path)["files_unreadable"][:2], ("dropped", 5))
        code, _, said = self.run_cli(folder / "rank0.pt.trace.json.gz", folder / "rank4.json")
        self.assertEqual(code, 1)
        self.assertIn("no events", said)

    def test_a_folder_of_lost_profiles_says_so(self):
        code, _, said = self.run_cli(self.folder_of({"rank0.json": b""}))
        self.assertEqual(code, 1)
        self.assertIn("rank0.json: the file is empty", said)

    def test_all_profiles_of_a_kind_are_lost(self):
        # What is sound is read, though it is of another kind than all that is not.
        snapshot = {"segments": [{"device": 0, "address": 1 << 30, "total_size": 1 << 21, "stream": 0, "blocks": []}],
                    "device_traces": [[]]}
        database = self.folder / "empty.sqlite"
        with sqlite3.connect(database) as open_database:
            open_database.execute("CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT)")
        open_database.close()
        table = b'"Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp"\n'
        for name, data in (("rank0.json", b'{"traceEvents": []}'), ("job.sqlite", database.read_bytes()),
                           ("7_kernel_trace.csv", table)):
            with self.subTest(name):
                folder = self.folder_of({"memory_rank0.pickle": pickle.dumps(snapshot), name: data})
                severity, count, detail = self.audit_of(folder, ranks=1)["files_unreadable"]
                self.assertEqual((severity, count), ("dropped", 1))
                self.assertIn(name, detail)
                (folder / name).unlink()
        code, _, said = self.run_cli(self.folder_of({"memory_rank0.pickle": b"\x80\x04}(\x8c\x08segments"}))
        self.assertEqual(code, 1)
        self.assertIn("memory_rank0.pickle", said)

    def test_a_damaged_table_of_rocprof(self):
        heading = b'"Kernel_Name","Agent_Id","Queue_Id","Correlation_Id","Start_Timestamp","End_Timestamp"\n'
        kernels = heading + b"".join(b'"gemm","Agent 4",1,%d,%d,%d\n' % (i, 1000 * i, 1000 * i + 500) for i in range(1, 4))
        calls = b'"Function","Correlation_Id","Start_Timestamp","End_Timestamp"\n"hipLaunchKernel",1,900,950\n'
        folder = self.folder_of({"run/7_kernel_trace.csv": kernels, "run/7_hip_api_trace.csv": calls})
        severity, count, detail = self.audit_of(folder, ranks=1)["files_unreadable"]
        self.assertEqual((severity, count), ("dropped", 1))
        self.assertIn("7_hip_api_trace.csv: a table (CSV) of something else than rocprofv3's traces", detail)
        # Named, it is refused; and one whose packed stream is cut says so.
        code, _, said = self.run_cli(folder / "run" / "7_hip_api_trace.csv", folder / "run" / "7_kernel_trace.csv")
        self.assertEqual(code, 1)
        self.assertIn("something else than rocprofv3's traces", said)
        cut = gzip.compress(heading + b"".join(b'"gemm%d","Agent 4",1,%d,%d,%d\n' % (i * i, i, 1000 * i, 1000 * i + 500)
                                              for i in range(1, 20000)))
        (folder / "run" / "7_hip_api_trace.csv").unlink()
        self.folder_of({"run/7_kernel_trace.csv": cut[: len(cut) // 2]})
        self.assertEqual(self.audit_of(folder, ranks=1)["file_cut"][1], 1)

    def test_archives_of_a_million_entries(self):
        # The same header a million times, in packed pieces that are made once. Folders and links count, too.
        for kind in (tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE):
            with self.subTest(kind):
                member = tarfile.TarInfo("notes.txt")
                member.type = kind
                member.linkname = "elsewhere" if kind == tarfile.SYMTYPE else ""
                piece = gzip.compress(member.tobuf(tarfile.USTAR_FORMAT) * 10000, 1)
                path = self.folder / "many.tar.gz"
                path.write_bytes(piece * 100)
                code, _, said = self.run_cli(path)
                self.assertEqual(code, 1)
                self.assertIn("an archive with more than 200000 files", said)
        # Many are no fault: a profile behind them is found.
        plain = tarfile.TarInfo("notes.txt").tobuf(tarfile.USTAR_FORMAT) * 20000
        rank = tarfile.TarInfo("rank0.json")
        rank.size = len(profile(0))
        data = profile(0) + b"\0" * (-rank.size % 512)
        path.write_bytes(gzip.compress(plain + rank.tobuf(tarfile.USTAR_FORMAT) + data + b"\0" * 1024, 1))
        self.assertEqual(self.audit_of(path, ranks=1)["files_left_alone"][1], 20000)

    def test_windows_of_one_process(self):
        # torch.profiler's handler writes a file per window; the third of one rank was not written any more.
        def window(rank, number):
            return profile(rank).replace(b'"op0"', b'"window%d"' % number)
        files = {f"host_{10 + rank}.{900 + number * 50}.pt.trace.json": window(rank, number)
                 for rank in (0, 1) for number in (1, 2, 3) if (rank, number) != (1, 3)}
        folder = self.folder_of(files)
        severity, count, detail = self.audit_of(folder)["windows_left_out"]
        self.assertEqual((severity, count), ("skipped", 3))
        self.assertIn("host_10.950.pt.trace.json", detail)
        query = subprocess.run([CLI, "query", str(self.inside / "run.fourwalls"),
                                "SELECT DISTINCT name FROM op WHERE name LIKE 'window%'", "--csv"],
                               capture_output=True, text=True, check=False)
        self.assertEqual(query.stdout.split(), ["name", "window2"], query.stderr)

    def test_what_is_no_profile_is_named(self):
        checkpoint = self.folder / "model.pt"
        with zipfile.ZipFile(checkpoint, "w") as archive:
            archive.writestr("model/data.pkl", pickle.dumps({"weight": [1.0]}))
            archive.writestr("model/data/0", b"\0" * 64)
        tensors = self.folder / "model.safetensors"
        header = b'{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
        tensors.write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))
        compute = self.folder / "kernels.ncu-rep"
        compute.write_bytes(b"NVR\0\1\2" + bytes(40))
        page = self.folder / "timeline.html"
        page.write_bytes(b"<html><head></head><body><img></body></html>")
        other = self.folder / "other.log"
        other.write_bytes(b"it 1 is done\n")
        for path, says in ((checkpoint, "a checkpoint"), (tensors, "a checkpoint"), (compute, "Nsight Compute"),
                           (page, "export_memory_timeline"), (other, "--log-line")):
            code, _, said = self.run_cli(path)
            self.assertEqual(code, 1)
            self.assertIn(says, said)

    def test_a_run_that_was_imported_before_lies_beside_it(self):
        (self.inside / "rank0.json").write_bytes(profile(0))
        self.expect(self.inside, ranks=1)
        self.expect(self.inside, ranks=1)

    def test_addresses(self):
        for address, hint in (("https://example.org/rank0.json.gz", "curl -LO"), ("s3://bucket/rank0.json", "download")):
            code, _, said = self.run_cli(address)
            self.assertEqual(code, 1)
            self.assertIn("an address on the network", said)
            self.assertIn(hint, said)

    def test_a_report_of_nsight_systems(self):
        report = self.folder / "run" / "job.nsys-rep"
        report.parent.mkdir()
        report.write_bytes(b"a report")
        tools = self.folder / "tools"
        tools.mkdir()
        code, _, said = self.run_cli(report, path=str(tools))
        self.assertEqual(code, 1)
        self.assertIn("nsys export --type sqlite 'job.nsys-rep'", said)
        # A program that is not there may be known by the shell's answer alone.
        (tools / "nsys").write_text("#!/bin/sh\nexit 127\n")
        (tools / "nsys").chmod(0o755)
        code, _, said = self.run_cli(report, path=str(tools))
        self.assertEqual(code, 1)
        self.assertIn("nsys is not installed here", said)
        # What stands in for nsys notes how it was called and writes a small export.
        export = self.folder / "export.sqlite"
        with sqlite3.connect(export) as database:
            database.executescript(
                """CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);
                INSERT INTO StringIds VALUES(1, 'gemm');
                CREATE TABLE META_DATA_EXPORT(name TEXT, value TEXT);
                INSERT INTO META_DATA_EXPORT VALUES('EXPORT_SCHEMA_VERSION', '3.25.0');
                CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
                    streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER);
                INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(1000, 5000, 0, 1, 7, 1, 281477409406976, 1, 1);"""
            )
        nsys = tools / "nsys"
        nsys.write_text(f'#!/bin/sh\necho "$@" >{self.folder}/called\nwhile [ "$1" != --output ]; do shift; done\n'
                        f'/bin/cp {export} "$2"\n')
        nsys.chmod(0o755)
        for given in (report, report.parent):
            code, out, said = self.run_cli(given, path=str(tools))
            self.assertEqual(code, 0, said)
            self.assertEqual(json.loads(out)["slices"], 1)
            self.assertTrue((self.folder / "called").read_text().startswith("export --type sqlite"))
        nsys.write_text("#!/bin/sh\necho this report is of a newer version\nexit 1\n")
        code, _, said = self.run_cli(report, path=str(tools))
        self.assertEqual(code, 1)
        self.assertIn("this report is of a newer version", said)

    def test_what_a_killed_import_left_is_removed(self):
        gone = subprocess.Popen(["true"])
        gone.wait()
        left = self.inside / f".fourwalls-unpacked-{socket.gethostname()}-{gone.pid}-abcdef"
        left.mkdir()
        (left / "rank0.json").write_bytes(b"{}")
        running = self.inside / f".fourwalls-unpacked-{socket.gethostname()}-{os.getpid()}-abcdef"
        running.mkdir()
        elsewhere = self.inside / f".fourwalls-unpacked-another-machine-{gone.pid}-abcdef"
        elsewhere.mkdir()
        # Unfinished traces, too, whatever they were to be called; an earlier output that was set aside is kept.
        partial = f".other.fourwalls.partial-{socket.gethostname()}-"
        names = [f"{partial}{gone.pid}", f"{partial}{gone.pid}-journal", f"{partial}{os.getpid()}",
                 f".other.fourwalls.partial-another-machine-{gone.pid}",
                 f".other.fourwalls.previous-{socket.gethostname()}-{gone.pid}"]
        for name in names:
            (self.inside / name).write_bytes(b"x")
        self.expect(self.tar("a.tar", "w"))
        self.assertEqual((left.exists(), running.exists(), elsewhere.exists()), (False, True, True))
        self.assertEqual([(self.inside / name).exists() for name in names], [False, False, True, True, True])
        running.rmdir()
        elsewhere.rmdir()


if __name__ == "__main__":
    unittest.main()
