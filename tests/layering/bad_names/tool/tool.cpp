// SPDX-License-Identifier: Apache-2.0
// Part of a sample: one of three files that a list names.
static int part_b()
{
    return 1;
}
int main()
{
    return part_a() + part_b();
}
