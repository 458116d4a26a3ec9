// SPDX-License-Identifier: Apache-2.0
// Part of a sample: what this file declares for itself.
#include "cost/inner_words.h"
#include "cost/words.h"

#define COST_LIMIT 3
#define COST_PASSING 4
#undef COST_PASSING

namespace fourwalls::cost {

namespace {

using namespace units;
using std::max;
using enum Way;

constexpr int kMost = 3, kLeast = 1;
const char* const kNames[] = {"a", "b"};
enum Part { First, Second };
enum class Safe { Third };

struct Status {
    int code = 0;
};

template <class T>
T half(T value)
{
    return value / 2;
}

int width(int n)
{
    return n;
}
int height(int n)
{
    return n + kLeast;
}
int area()
{
    return 0;
}
int count(int n)
{
    return n;
}
int close(int n)
{
    return n;
}
double (*pointed)(double) = nullptr;
[[nodiscard]] int marked()
{
    return 0;
}

} // namespace

static int total(int n)
{
    return n * kMost;
}

struct OnlyHere {};

} // namespace fourwalls::cost
