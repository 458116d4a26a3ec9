// SPDX-License-Identifier: Apache-2.0
// The one-line text of an Error.
#include "model/base/result.h"

namespace fourwalls {

std::string Error::message() const
{
    std::string line = where.empty() ? what : where + ": " + what;
    if (!hint.empty()) line += " (try: " + hint + ")";
    // Names of files may hold anything.
    for (char& c : line)
        if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = ' ';
    return line;
}

} // namespace fourwalls
