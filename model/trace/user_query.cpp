// SPDX-License-Identifier: Apache-2.0
// See user_query.h.
#include "model/trace/user_query.h"

#include "model/trace/trace_query.h"

#include <utility>

namespace fourwalls {

Result<UserRows> askInSql(TraceQuery& trace, const UserQuery& query, std::stop_token stop)
{
    if (auto* const file = dynamic_cast<SqlQuestions*>(&trace)) return file->userQuery(query, std::move(stop));
    return Error{ErrorCode::Unsupported, "only traces in files can be asked in SQL", "SQL", "save the trace first"};
}

} // namespace fourwalls
