// SPDX-License-Identifier: GPL-3.0-or-later
// The open traces in the header: a name and a chip that says where the trace comes from.
#pragma once

#include "views/chrome/chip.h"

#include <QWidget>

class QHBoxLayout;

namespace fourwalls::views {

class TraceTab;

class TraceTabs : public QWidget {
    Q_OBJECT
public:
    explicit TraceTabs(QWidget* parent = nullptr);

    /// A tab after the others; returns its key. The chip stays away until the trace's source is known.
    int addTab(const QString& name, const QString& path);
    void removeTab(int key);
    void setChip(int key, const QString& text, ChipKind kind);
    void setCurrent(int key);
    int current() const { return m_current; }
    QList<int> keys() const;

signals:
    void chosen(int key);
    void closeRequested(int key);

private:
    TraceTab* tab(int key) const;

    QHBoxLayout* m_layout;
    QList<TraceTab*> m_tabs;
    int m_nextKey = 1;
    int m_current = 0;
};

} // namespace fourwalls::views
