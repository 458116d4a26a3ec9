// SPDX-License-Identifier: GPL-3.0-or-later
// A page in the middle of the window that says what happened, where, and what to do: for traces that could not be
// opened, and while one is being opened.
#pragma once

#include "model/base/result.h"
#include "views/plot/spoken.h"

#include <QWidget>

class QLabel;
class QPushButton;

namespace fourwalls::views {

class WrapRow;

class MessagePage : public QWidget, public Spoken {
    Q_OBJECT
public:
    explicit MessagePage(QWidget* parent = nullptr);

    void showError(const QString& headline, const Error& error);
    void showText(const QString& headline, const QString& text);
    /// Adds a button below the text; the caller connects it.
    QPushButton* addButton(const QString& text, bool primary = false);
    QAccessible::Role spokenRole() const override { return QAccessible::AlertMessage; }

protected:
    void paintEvent(QPaintEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    void applyTheme();

    QLabel* m_headline;
    QLabel* m_what;
    QLabel* m_where;
    QLabel* m_hint;
    WrapRow* m_buttons;
    QWidget* m_card;
    bool m_isError = false;
};

} // namespace fourwalls::views
