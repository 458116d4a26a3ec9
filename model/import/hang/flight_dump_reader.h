// SPDX-License-Identifier: Apache-2.0
// Reads the dumps of a hung job: PyTorch's flight recorder as a pickle (nothing in it is executed) or as JSON, plain or
// gzip, and what lies beside them: the stacks that py-spy or faulthandler wrote, and NCCL's report of the job.
#pragma once

#include "model/base/result.h"
#include "model/diagnose/flight_dump.h"
#include "model/diagnose/hang_report.h"

#include <functional>
#include <stop_token>
#include <string>
#include <vector>

namespace fourwalls::importers {

/// Of a whole dump, this many of the newest finished operations are kept: those before them tell nothing about a hang.
inline constexpr std::size_t kFinishedKept = 256;

/// One dump. The rank is the number at the end of the file's name ("_dump_12", "nccl_trace_rank_3.json").
/// Errors: NotFound, Io; Format for what is no dump; Cancelled.
Result<diagnose::FlightDump> readFlightDump(const std::string& path, std::stop_token stop = {});

/// What NCCL's RAS says in the reports among `paths`; see readFlightDumps, which passes them over.
/// Errors: Io.
Result<std::vector<diagnose::RasNote>> readRasNotes(const std::vector<std::string>& paths);

/// The dumps among `paths`, by rank. A folder stands for its files, without those in its folders. Files that are no
/// dumps are passed over if they came from a folder, as are stacks and reports of RAS; a damaged dump is kept with its
/// `error`.
/// progress: told of the part that is done, 0 to 1; may be empty.
/// Errors: NotFound, Io; InvalidArgument if there is no dump, or two of one rank; Format if none can be read; Cancelled.
Result<std::vector<diagnose::FlightDump>> readFlightDumps(const std::vector<std::string>& paths,
                                                          const std::function<void(double)>& progress = {},
                                                          std::stop_token stop = {});

} // namespace fourwalls::importers
