// SPDX-License-Identifier: Apache-2.0
// Part of the layering test's bad sample: a view that reads SQL and the recorder.
#include "timeline.moc"
#include "profiler/engine/layer.h"
#include <QWidget>
#include <sqlite3.h>
