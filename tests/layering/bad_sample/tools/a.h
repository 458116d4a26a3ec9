// SPDX-License-Identifier: Apache-2.0
// Part of the layering test's bad sample: a folder that the table does not have.
