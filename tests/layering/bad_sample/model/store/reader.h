// SPDX-License-Identifier: Apache-2.0
// Part of the layering test's bad sample: includes written relative to the file, a parent of the table's rows, an unknown header.
#pragma once
#include "../base/time.h"
#include "model/base/time.h"
#include <boost/any.hpp>
#include <sqlite3.h>
