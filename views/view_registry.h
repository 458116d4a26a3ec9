// SPDX-License-Identifier: GPL-3.0-or-later
// The list of views, in the order of the rail. Adding a view edits view_registry.cpp and nothing else.
#pragma once

#include "views/base/view.h"

#include <QStringList>

#include <functional>
#include <vector>

namespace fourwalls::views {

struct ViewEntry {
    QString id; ///< as on the command line
    std::function<View*(QWidget* parent)> create;
};

/// The views that show an open trace.
const std::vector<ViewEntry>& viewRegistry();

/// The view's name on the rail, in the user's language, without making the view.
QString viewTitle(const QString& id);

} // namespace fourwalls::views
