// SPDX-License-Identifier: Apache-2.0
// Part of a sample: one of three files that a list names.
namespace {
int part_a()
{
    return 0;
}
} // namespace
