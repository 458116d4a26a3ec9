// SPDX-License-Identifier: GPL-3.0-or-later
// The samples of the welcome page: small recordings and a synthetic trace, made on this machine when asked for.
#pragma once

#include "views/chrome/welcome_page.h"

#include <QStringList>

#include <functional>

namespace fourwalls::gui {

QList<views::SampleEntry> samples();

/// Where the sample's trace lies (in the user's cache folder).
QString samplePath(const QString& id);
/// The arguments of fourwalls-cli that make it at `path`.
QStringList sampleArguments(const QString& id, const QString& path);

/// Looks on a pool thread whether the sample was made before, and makes its folder; answers on `receiver`'s thread.
void prepareSample(const QString& id, QObject* receiver, std::function<void(const QString& path, bool exists)> done);

} // namespace fourwalls::gui
