// SPDX-License-Identifier: GPL-3.0-or-later
// Pages whose keys belong to a part of them.
#pragma once

class QWidget;

namespace fourwalls::views {

/// Whoever gives the page the keys gives them to that part of it. Unlike a focus proxy it does not let Tab jump over the
/// parts that stand before it.
void giveKeysTo(QWidget& part, QWidget& page);

} // namespace fourwalls::views
