-- BCP 47, for numbers, money and dates in emails; null = default.
ALTER TABLE app_mail_settings ADD COLUMN locale TEXT;
