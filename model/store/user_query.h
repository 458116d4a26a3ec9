// SPDX-License-Identifier: Apache-2.0
// SQL that a person typed, over a finished trace file: on a connection of its own that can only read, with limits on
// time, memory and rows, and temporary views that join ids to names.
#pragma once

#include "model/base/result.h"
#include "model/sqlite/database.h"
#include "model/trace/user_query.h"

#include <stop_token>
#include <string>

namespace fourwalls::store {

/// The statements that make the views named_slices, named_collectives, named_allocations and named_counter_samples,
/// with enumerations in words.
std::string userViewsSql();

/// Runs one SELECT (or WITH … SELECT, VALUES, EXPLAIN) on a hardened connection to a finished trace. The connection is
/// for this alone: it ends up without the right to do anything but read.
/// Errors: InvalidArgument for what is no such statement, with the place in the text; Cancelled by `stop`; Unsupported
/// beyond the time or memory it may take; Format for damage met.
Result<UserRows> runUserQuery(sqlite::Database& database, const UserQuery& query, std::stop_token stop = {});

} // namespace fourwalls::store
