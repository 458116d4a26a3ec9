// SPDX-License-Identifier: GPL-3.0-or-later
// The manual, offline: the pages of docs/manual as they were when the program was built.
#pragma once

#include <QDialog>

class QTextBrowser;

namespace fourwalls::gui {

class HelpDialog : public QDialog {
    Q_OBJECT
public:
    explicit HelpDialog(QWidget* parent = nullptr);

    /// The page that explains a view ("memory", …), else the first page.
    void showPageOf(const QString& viewId);
    /// Its name, without suffix.
    QString page() const { return m_page; }
    QString text() const;

private:
    QTextBrowser* m_browser;
    QString m_page;
};

} // namespace fourwalls::gui
