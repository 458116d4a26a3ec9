// SPDX-License-Identifier: Apache-2.0
// The one-line text of an Error.
#include "model/base/result.h"

namespace fourwalls {

std::string Error::message() const
{
    std::string line = where.empty() ? what : where + ": " + what;
    if (!hint.empty()) line += " (try: " + hint + ")";
    return line;
}

} // namespace fourwalls
