// SPDX-License-Identifier: GPL-3.0-or-later
// The list of demos, wall by wall: where a newcomer starts.
#pragma once

#include <QList>
#include <QString>
#include <QWidget>

#include <vector>

class QGridLayout;
class QVBoxLayout;

namespace fourwalls::views {

struct DemoEntry {
    QString id, wall, title, summary;
};

class DemosPage : public QWidget {
    Q_OBJECT
public:
    explicit DemosPage(QWidget* parent = nullptr);

    /// In the reader's language, in the order in which they are shown.
    void setDemos(const QList<DemoEntry>& demos);

signals:
    void demoChosen(const QString& id);
    /// Another demo, of a teacher, from a file.
    void fileRequested();

protected:
    void changeEvent(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void rebuild();
    /// The walls beside each other: all four, or two, or none, as their words have room.
    void arrange();

    QList<DemoEntry> m_demos;
    std::vector<QList<QWidget*>> m_walls; ///< of each its heading and buttons
    QGridLayout* m_grid = nullptr;
    int m_columns = 0; ///< in which walls stand; 0: not arranged yet
    QWidget* m_content = nullptr;
    QVBoxLayout* m_outer;
};

} // namespace fourwalls::views
