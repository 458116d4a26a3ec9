// SPDX-License-Identifier: Apache-2.0
// Part of a sample: the same names in the same namespace or in one around it.
#include "cost/words.h"

namespace fourwalls {
namespace {

using std::max; // in another namespace, but it is the same
constexpr int kMost = 4;
double pointed = 0;

} // namespace

namespace other {
namespace {
constexpr int kLeast = 5; // never met
int half(int value)
{
    return value;
}
} // namespace
} // namespace other

namespace cost {
using std::max;
namespace {
struct OnlyHere {};
} // namespace
} // namespace cost
} // namespace fourwalls
