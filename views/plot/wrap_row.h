// SPDX-License-Identifier: GPL-3.0-or-later
// Controls in a row, and in a second row what the first one has no room for.
#pragma once

#include <QLayout>

#include <algorithm>
#include <memory>
#include <vector>

namespace fourwalls::views {

/// Places items left to right at the size that they ask for, and goes on below where the width ends. Items that want to
/// grow share what is left of their row. It asks for the height that its rows need at the width that it has, so that it
/// also works in splitters, which know of no height for a width.
class WrapRow : public QLayout {
    Q_OBJECT
public:
    explicit WrapRow(QWidget* parent = nullptr);
    ~WrapRow() override;

    void addItem(QLayoutItem* item) override;
    /// What stays together, as a name and its field.
    void addLayout(QLayout* layout);
    int count() const override { return static_cast<int>(m_items.size()); }
    QLayoutItem* itemAt(int index) const override;
    QLayoutItem* takeAt(int index) override;
    QSize sizeHint() const override;
    QSize minimumSize() const override;
    void setGeometry(const QRect& rect) override;
    Qt::Orientations expandingDirections() const override { return Qt::Horizontal; }
    /// How many rows the items take; for tests.
    int rows() const;

private:
    struct Row {
        std::vector<QLayoutItem*> items;
        int width = 0, height = 0;
    };
    std::vector<Row> rowsFor(int width) const;
    int gap() const { return std::max(0, spacing()); }
    int heightOf(const std::vector<Row>& rows) const;
    int roomInside(int width) const;
    std::vector<int> widthsOf(const Row& row, int width) const;
    void place(const Row& row, int left, int top, int width) const;

    std::vector<std::unique_ptr<QLayoutItem>> m_items;
    int m_width = 0; ///< that it has; QLayout forgets its own with every change
};

} // namespace fourwalls::views
