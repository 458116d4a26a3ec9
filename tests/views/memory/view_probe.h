// SPDX-License-Identifier: GPL-3.0-or-later
// A view of the sample training run.
#pragma once

#include "tests/views/shown_view.h" // Qt's headers first: the moc of Qt 6.4 cannot read <compare> as the first header

#include "tests/support/sample_training.h"

#include <memory>

namespace fourwalls::views {

/// A view of the sample.
template <class V>
struct ViewProbe : ShownView<V> {
    explicit ViewProbe(const sample::TrainingShape& shape, QSize size = {1200, 760})
        : ShownView<V>([shape](const QString&) { return sample::open(shape); }, size)
    {}
};

} // namespace fourwalls::views
