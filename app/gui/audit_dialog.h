// SPDX-License-Identifier: GPL-3.0-or-later
// What a trace says was dropped, repaired or skipped, entry by entry.
#pragma once

#include "model/trace/trace_query.h"

#include <QDialog>

namespace fourwalls::gui {

/// Whether anything is missing from the trace or was changed on its way in.
bool hasLosses(const TraceInfo& info);

class AuditDialog : public QDialog {
    Q_OBJECT
public:
    /// name: of the trace, for the title.
    AuditDialog(const TraceInfo& info, const QString& name, QWidget* parent = nullptr);
};

} // namespace fourwalls::gui
