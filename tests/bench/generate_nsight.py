#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes an Nsight Systems SQLite export of any size, for measuring the import: kernels, API calls and NVTX ranges of
two processes.

Usage: generate_nsight.py --kernels 8000000 -o FILE    (about 250 bytes per kernel, its call and its range)
"""
import argparse
import os
import random
import sqlite3


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernels", type=int, required=True)
    parser.add_argument("-o", "--output", required=True)
    arguments = parser.parse_args()
    if os.path.exists(arguments.output):
        os.remove(arguments.output)
    chance = random.Random(1)
    database = sqlite3.connect(arguments.output)
    database.executescript("""
        PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
        CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
        CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
        CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
            contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
            demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER, launchType INTEGER, cacheConfig INTEGER,
            registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL,
            blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL, staticSharedMemory INTEGER NOT NULL,
            dynamicSharedMemory INTEGER NOT NULL, localMemoryPerThread INTEGER NOT NULL, localMemoryTotal INTEGER NOT NULL,
            gridId INTEGER NOT NULL, sharedMemoryExecuted INTEGER, graphNodeId INTEGER, sharedMemoryLimitConfig INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL,
            globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER);
        CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, category INTEGER,
            color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER);
        INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.25.0'), ('EXPORT_PRODUCT_VERSION', '2026.2.1');
        INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1779782330176752435);
        INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000');""")
    database.executemany("INSERT INTO StringIds VALUES (?, ?)",
                         [(10 + i, f"void kernel_{i}<float, {i}>(float*, int)") for i in range(400)] +
                         [(500, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)")])
    processes = [0x0001000065000000, 0x0001000066000000]

    def rows(make):
        for rank, process in enumerate(processes):
            clock = 1_000_000_000
            for i in range(arguments.kernels // len(processes)):
                clock += 6000
                yield make(rank, process, clock, i)

    def kernel(rank, process, clock, i):
        communication = i % 50 == 49
        name = 500 if communication else 10 + i % 400
        length = 5000 + (i * 7919) % 900
        return (clock, clock + length, rank, 1, None, 20 if communication else 7, i, process, name, name, None, 1, 0, 64, 128, 1, 1, 256, 1, 1,
                0, 49152, 0, 0, i, 0, None, 0)

    def call(_, process, clock, i):
        return (clock - 4000, clock - 2500, 0, process + 7, i, 1, 0, None)

    def nvtx(_, process, clock, i):
        return (clock - 5000, clock - 1000, 59, i, None, None, f"aten::mm, op_id = {i}", process + 7, None, None, 0)

    for table, columns, make in (("CUPTI_ACTIVITY_KIND_KERNEL", 28, kernel), ("CUPTI_ACTIVITY_KIND_RUNTIME", 8, call), ("NVTX_EVENTS", 11, nvtx)):
        database.executemany(f"INSERT INTO {table} VALUES (" + ",".join("?" * columns) + ")", rows(make))
        database.commit()
    database.close()


main()
