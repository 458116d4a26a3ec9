// SPDX-License-Identifier: Apache-2.0
// Taking names out of texts that leave the house.
#pragma once

#include "model/trace/records.h"

#include <string>
#include <utility>
#include <vector>

namespace fourwalls {

/// Replaces host names by "host 1", "host 2", … and file paths by "(path)".
class Redaction {
public:
    /// ranks: of the trace, for the host names.
    explicit Redaction(const std::vector<RankInfo>& ranks);

    std::string text(const std::string& original) const;
    /// Host names, the data file, model and cluster names that are paths, and unknown fields of the specification.
    TraceHeader header(TraceHeader original) const;

private:
    std::vector<std::pair<std::string, std::string>> m_hosts; ///< name, alias; longest first
};

} // namespace fourwalls
