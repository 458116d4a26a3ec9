// SPDX-License-Identifier: Apache-2.0
// A question that a person writes in SQL, and its answer as rows of plain values.
#pragma once

#include "model/base/result.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

namespace fourwalls {

class TraceQuery;

/// One read-only statement, and how much it may cost.
struct UserQuery {
    std::string text;
    std::size_t mostRows = 10'000;
    std::int64_t mostBytes = std::int64_t{64} << 20; ///< of all values of the answer
    std::chrono::milliseconds mostTime{20'000};
};

/// A packed value of so many bytes, which nobody can read.
struct UserBlob {
    std::int64_t bytes = 0;
    friend bool operator==(const UserBlob&, const UserBlob&) = default;
};

/// NULL, a number, text in UTF-8 (as the file has it: it may be damaged), or a BLOB.
using UserValue = std::variant<std::monostate, std::int64_t, double, std::string, UserBlob>;

struct UserRows {
    std::vector<std::string> columns;
    std::vector<std::vector<UserValue>> rows;
    bool limited = false; ///< there are more rows than mostRows or mostBytes
    double seconds = 0;   ///< of the query
};

/// What only a trace in a file answers.
class SqlQuestions {
public:
    virtual ~SqlQuestions() = default;
    virtual Result<UserRows> userQuery(const UserQuery& query, std::stop_token stop) = 0;
};

/// Errors: Unsupported for a trace that is no file, and those of store::runUserQuery.
Result<UserRows> askInSql(TraceQuery& trace, const UserQuery& query, std::stop_token stop = {});

} // namespace fourwalls
