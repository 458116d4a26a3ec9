-- SPDX-License-Identifier: Apache-2.0
CREATE TABLE rocpd_string_0a(id INTEGER PRIMARY KEY, guid TEXT, string TEXT);
CREATE TABLE rocpd_info_process_0a(id INTEGER PRIMARY KEY, guid TEXT, nid INTEGER, ppid INTEGER, pid INTEGER,
    command TEXT, environment JSONB);
CREATE TABLE rocpd_info_thread_0a(id INTEGER PRIMARY KEY, guid TEXT, nid INTEGER, pid INTEGER, tid INTEGER, name TEXT);
CREATE TABLE rocpd_info_agent_0a(id INTEGER PRIMARY KEY, guid TEXT, nid INTEGER, pid INTEGER, type TEXT,
    absolute_index INTEGER, name TEXT, model_name TEXT, product_name TEXT);
CREATE TABLE rocpd_info_kernel_symbol_0a(id INTEGER PRIMARY KEY, guid TEXT, kernel_name TEXT, display_name TEXT);
CREATE TABLE rocpd_event_0a(id INTEGER PRIMARY KEY, guid TEXT, category_id INTEGER, stack_id INTEGER,
    parent_stack_id INTEGER, correlation_id INTEGER, call_stack JSONB, line_info JSONB, extdata JSONB);
CREATE TABLE rocpd_arg_0a(id INTEGER PRIMARY KEY, guid TEXT, event_id INTEGER, position INTEGER, type TEXT, name TEXT,
    value TEXT);
CREATE TABLE rocpd_region_0a(id INTEGER PRIMARY KEY, guid TEXT, nid INTEGER, pid INTEGER, tid INTEGER, start BIGINT,
    "end" BIGINT, name_id INTEGER, event_id INTEGER, extdata JSONB);
CREATE TABLE rocpd_kernel_dispatch_0a(id INTEGER PRIMARY KEY, guid TEXT, nid INTEGER, pid INTEGER, tid INTEGER,
    agent_id INTEGER, kernel_id INTEGER, dispatch_id INTEGER, queue_id INTEGER, stream_id INTEGER, start BIGINT,
    "end" BIGINT, workgroup_size_x INTEGER, workgroup_size_y INTEGER, workgroup_size_z INTEGER, grid_size_x INTEGER,
    grid_size_y INTEGER, grid_size_z INTEGER, region_name_id INTEGER, event_id INTEGER);
CREATE TABLE rocpd_memory_copy_0a(id INTEGER PRIMARY KEY, guid TEXT, nid INTEGER, pid INTEGER, tid INTEGER, start BIGINT,
    "end" BIGINT, name_id INTEGER, dst_agent_id INTEGER, src_agent_id INTEGER, size INTEGER, queue_id INTEGER,
    stream_id INTEGER, event_id INTEGER);
CREATE TABLE rocpd_memory_allocate_0a(id INTEGER PRIMARY KEY, guid TEXT, nid INTEGER, pid INTEGER, tid INTEGER,
    agent_id INTEGER, type TEXT, level TEXT, start BIGINT, "end" BIGINT, address INTEGER, size INTEGER);
CREATE VIEW rocpd_string AS SELECT * FROM rocpd_string_0a;
CREATE VIEW rocpd_kernel_dispatch AS SELECT * FROM rocpd_kernel_dispatch_0a;
INSERT INTO rocpd_string_0a VALUES(1, 'x', 'HIP_RUNTIME_API_EXT'), (2, 'x', 'RCCL_API'), (3, 'x', 'MARKER_CORE_RANGE_API'),
    (4, 'x', 'hipLaunchKernel'), (5, 'x', 'ncclAllReduce'), (6, 'x', 'ncclCommInitRank'), (7, 'x', 'roctxRangePush'),
    (8, 'x', 'KERNEL_DISPATCH'), (9, 'x', 'MEMORY_COPY_HOST_TO_DEVICE'), (10, 'x', 'hipMemcpyAsync');
INSERT INTO rocpd_info_process_0a VALUES(1, 'x', 1, 1, 4711, 'train --token secret', '{"TOKEN": "secret"}');
INSERT INTO rocpd_info_thread_0a VALUES(1, 'x', 1, 1, 4712, NULL);
INSERT INTO rocpd_info_agent_0a VALUES(1, 'x', 1, 1, 'CPU', 0, 'EPYC', NULL, NULL),
    (2, 'x', 1, 1, 'GPU', 1, 'gfx942', NULL, 'AMD Instinct MI300X');
INSERT INTO rocpd_info_kernel_symbol_0a VALUES(1, 'x', '_Z4gemmv.kd', 'gemm()'), (2, 'x', 'ncclDevKernel_Generic.kd', NULL);
INSERT INTO rocpd_event_0a VALUES(1, 'x', 1, 100, 0, 0, '{}', '{}', '{}'), (2, 'x', 8, 100, 0, 0, '{}', '{}', '{}'),
    (3, 'x', 2, 101, 0, 0, '{}', '{}', '{}'), (4, 'x', 1, 102, 101, 0, '{}', '{}', '{}'), (5, 'x', 8, 102, 0, 0, '{}', '{}', '{}'),
    (6, 'x', 2, 90, 0, 0, '{}', '{}', '{}'), (7, 'x', 3, 91, 0, 0, '{}', '{}', '{"message": "step 4"}'),
    (8, 'x', 1, 103, 0, 0, '{}', '{}', '{}'), (9, 'x', 8, 103, 0, 0, '{}', '{}', '{}');
INSERT INTO rocpd_region_0a VALUES(1, 'x', 1, 1, 1, 1000, 1100, 4, 1, '{}'), (2, 'x', 1, 1, 1, 1200, 1400, 5, 3, '{}'),
    (3, 'x', 1, 1, 1, 1250, 1300, 4, 4, '{}'), (4, 'x', 1, 1, 1, 100, 200, 6, 6, '{}'), (5, 'x', 1, 1, 1, 900, 12000, 7, 7, '{}'),
    (6, 'x', 1, 1, 1, 1500, 1550, 10, 8, '{}');
INSERT INTO rocpd_arg_0a VALUES(1, 'x', 6, 1, 'int', 'nranks', '8'), (2, 'x', 6, 3, 'int', 'rank', '5'),
    (3, 'x', 3, 2, 'size_t', 'count', '1024'), (4, 'x', 3, 3, 'ncclDataType_t', 'datatype', 'ncclFloat32');
INSERT INTO rocpd_kernel_dispatch_0a VALUES
    (1, 'x', 1, 1, 1, 2, 1, 1, 1, 1, 2000, 6000, 64, 1, 1, 128, 1, 1, 8, 2),
    (2, 'x', 1, 1, 1, 2, 2, 2, 2, 2, 5000, 10000, 64, 1, 1, 128, 1, 1, 8, 5);
INSERT INTO rocpd_memory_copy_0a VALUES(1, 'x', 1, 1, 1, 7000, 9000, 9, 2, 1, 4096, 0, 3, 9);
INSERT INTO rocpd_memory_allocate_0a VALUES(1, 'x', 1, 1, 1, 2, 'ALLOC', 'REAL', 300, 310, 4096, 1048576),
    (2, 'x', 1, 1, 1, 2, 'FREE', 'REAL', 11000, 11010, 4096, 0);
