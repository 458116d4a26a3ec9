// SPDX-License-Identifier: Apache-2.0
// The rows of a finished trace as records, for check. Every row is looked at; bad ones are reported and left out.
#pragma once

#include "model/store/check.h"
#include "model/store/record_source.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace fourwalls::store {

/// Problems by name, with the first one's detail.
class ProblemList {
public:
    void add(const std::string& name, const std::string& detail, std::int64_t count = 1);
    std::vector<CheckProblem> take() const;
    bool empty() const { return m_problems.empty(); }

private:
    std::map<std::string, CheckProblem> m_problems;
};

/// The source over a finished file. Damage goes to `problems`; both references must outlive it.
Result<std::unique_ptr<RecordSource>> openFileSource(sqlite::Database& finished, ProblemList& problems);

} // namespace fourwalls::store
