// SPDX-License-Identifier: GPL-3.0-or-later
// A page in a window that is too small for it: it keeps the size that it needs, and scrolls.
#pragma once

#include <QScrollArea>

namespace fourwalls::views {

/// As large as its room, but never smaller than the page can be drawn.
class ScrolledPage : public QScrollArea {
    Q_OBJECT
public:
    /// Takes the page.
    explicit ScrolledPage(QWidget* page, QWidget* parent = nullptr);

    QSize sizeHint() const override { return widget() ? widget()->sizeHint() : QSize(); }
    QSize minimumSizeHint() const override { return {}; }

protected:
    void resizeEvent(QResizeEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void fit();
};

} // namespace fourwalls::views
