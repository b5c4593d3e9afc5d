-- BCP 47: how emails write numbers, money and dates; null is the default.
ALTER TABLE app_mail_settings ADD COLUMN locale TEXT;
