// SPDX-License-Identifier: Apache-2.0
// Part of the layering test's bad sample: a view that reads SQL and the recorder.
#include <QWidget>
#include <sqlite3.h>
#  include "profiler/engine/layer.h"
#include "timeline.moc"
