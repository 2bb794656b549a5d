// Generated from the OpenAPI document by `npm run generate:client`. Change the endpoints of the service instead.

export type TokenizeCardsRequest = {
  /** The cards */
  readonly chd: readonly {
    /** Card number, 12 to 19 digits; blanks and dashes in a string are dropped. No digit of a number is lost. */
    readonly card: string;
    /** Cardholder name */
    readonly name: string;
    /** Expiry, MM/YY */
    readonly exp: string;
  }[];
  /** Tags attached to every card; [] for none */
  readonly tags: readonly string[];
  /** Token format: 1 (sixTOKENfour), 3 (sixANTOKENfour), 7 (UUID), 8 (LuhnValid) */
  readonly scheme: 1 | 3 | 7 | 8 | "1" | "3" | "7" | "8";
  /** Keep the first 8 digits instead of 6 of card numbers with 16 digits or more; schemes 1, 3 and 8 only */
  readonly isEightDigitsBin?: boolean | undefined;
  /** Give the same token for the same card number */
  readonly type?: "persistent" | undefined;
};

export type TokenizeCardsResponse = {
  readonly status_code: 200;
  readonly status: "success";
  readonly desc: string;
  readonly data: {
    /** One record for each card, in the order of the request */
    readonly tokens: readonly {
      /** Card number, first 6 and last 4 digits, a star for each digit between */
      readonly card: string;
      /** The token; empty when the card cannot be tokenized */
      readonly token: string;
      /** Tags attached to the card */
      readonly tags: readonly string[];
      /** Token format */
      readonly scheme: number;
      /** 1 when the card was tokenized, 0 when it cannot be */
      readonly status: number;
      readonly created_by: {
        /** Id of the API key */
        readonly user_id: string;
        /** Name of the API key */
        readonly name: string;
      };
      /** When the token was made */
      readonly createdAt: string;
    }[];
  };
};

export type VaultFailure = {
  readonly status_code: number;
  readonly status: "fail";
  readonly desc: string;
  readonly data: "";
};

export type InspectTokenResponse = {
  readonly status_code: 200;
  readonly status: "success";
  readonly desc: string;
  readonly data: {
    /** The token */
    readonly token: string;
    /** Card number, first 6 and last 4 digits */
    readonly card_truncated: string;
    /** Expiry, MM/YYYY; absent when none is known */
    readonly exp?: string | undefined;
    /** Cardholder name; absent when none is known */
    readonly name?: string | undefined;
    /** 1 */
    readonly status: number;
    /** Name of the API key that made the token */
    readonly created_by: string;
    /** When the token was made */
    readonly createdAt: string;
  };
};

export type DeleteTokensRequest = {
  /** The tokens */
  readonly tokens: readonly string[];
};

export type DeleteTokensResponse = {
  readonly status_code: 200;
  readonly status: "success";
  readonly desc: string;
  readonly data: {
    /** One entry for each distinct token */
    readonly tokens: readonly {
      /** The token */
      readonly id: string;
      /** fail when there is no such token */
      readonly status: "success" | "fail";
    }[];
  };
};

export type CreateCaptureRequest = {
  /** Card data; at least one of card, cvv and track_2 */
  readonly chd: {
    /** Card number, 12 to 19 digits; blanks and dashes in a string are dropped. No digit of a number is lost. */
    readonly card?: string | undefined;
    /** Cardholder name */
    readonly name?: string | undefined;
    /** Expiry, MM/YY */
    readonly exp?: string | undefined;
    /** Security code of the card, 3 or 4 digits */
    readonly cvv?: string | undefined;
    /** Track 2 (ISO/IEC 7813), with or without sentinels */
    readonly track_2?: string | undefined;
  };
  /** Amount to capture; 0 when nothing needs capturing */
  readonly amount: number | string;
  /** ISO 4217 code, in either case */
  readonly currency: string;
  /** Any further fields; may be empty */
  readonly additional_info: Readonly<Record<string, unknown>>;
  /** Minutes until the capture ends */
  readonly ttl?: number | string | undefined;
  /** Minutes until the capture ends */
  readonly TTL?: number | string | undefined;
};

export type CreateCaptureResponse = {
  readonly status_code: 200;
  readonly status: "success";
  readonly desc: string;
  readonly data: {
    /** Id of the capture, a UUID */
    readonly id: string;
  };
};

export type TokenizeCaptureRequest = {
  /** Tags attached to every card; [] for none */
  readonly tags: readonly string[];
  /** Token format: 1 (sixTOKENfour), 3 (sixANTOKENfour), 7 (UUID), 8 (LuhnValid) */
  readonly scheme: 1 | 3 | 7 | 8 | "1" | "3" | "7" | "8";
  /** Keep the first 8 digits instead of 6 of card numbers with 16 digits or more; schemes 1, 3 and 8 only */
  readonly isEightDigitsBin?: boolean | undefined;
  /** Give the same token for the same card number */
  readonly type?: "persistent" | undefined;
};

export type TokenizeCaptureResponse = {
  readonly status_code: 200;
  readonly status: "success";
  readonly desc: string;
  readonly data: {
    /** One record for each card, in the order of the request */
    readonly tokens: readonly {
      /** Card number, first 6 and last 4 digits, a star for each digit between */
      readonly card: string;
      /** The token; empty when the card cannot be tokenized */
      readonly token: string;
      /** Tags attached to the card */
      readonly tags: readonly string[];
      /** Token format */
      readonly scheme: number;
      /** 1 when the card was tokenized, 0 when it cannot be */
      readonly status: number;
      readonly created_by: {
        /** Id of the API key */
        readonly user_id: string;
        /** Name of the API key */
        readonly name: string;
      };
      /** When the token was made */
      readonly createdAt: string;
    }[];
  };
};

export type RetrieveCaptureResponse = {
  readonly status_code: 200;
  readonly status: "success";
  readonly desc: string;
  readonly data: {
    /** Id of the capture */
    readonly id: string;
    /** Card number */
    readonly pan?: string | undefined;
    /** Expiry, MM/YY */
    readonly exp?: string | undefined;
    /** Cardholder name */
    readonly name?: string | undefined;
    /** Security code of the card */
    readonly cvv?: string | undefined;
    /** Track 2 without sentinels */
    readonly track_2?: string | undefined;
    /** Amount */
    readonly amount: number;
    /** ISO 4217 code */
    readonly currency: string;
    /** The fields given at creation, and pan_index when there is a card number: equal for equal card numbers of the account */
    readonly additional_info: Readonly<Record<string, unknown>>;
  };
};

export type DeleteCaptureResponse = {
  readonly status_code: 200;
  readonly status: "success";
  readonly desc: string;
  readonly data: {
    /** Id of the capture */
    readonly id: string;
    /** success */
    readonly status: "success";
  };
};

export type InspectCaptureResponse = {
  readonly status_code: 200;
  readonly status: "success";
  readonly desc: string;
  readonly data: {
    /** Id of the capture */
    readonly id: string;
    /** Amount */
    readonly amount?: number | undefined;
    /** ISO 4217 code */
    readonly currency?: string | undefined;
    /** The fields given at creation, and pan_index when there is a card number: equal for equal card numbers of the account */
    readonly additional_info?: Readonly<Record<string, unknown>> | undefined;
    /** success while the capture exists and its ttl has not ended */
    readonly status: "success" | "fail";
  };
};

export type CreateCaptureSessionRequest = {
  /** Pages that may frame the card form: 1 to 10 different ones */
  readonly allowed_origins?: readonly string[] | undefined;
  /** Where the hosted page sends the buyer back */
  readonly return_url?: string | undefined;
  /** What the buyer pays for */
  readonly description?: string | undefined;
  /** Minutes until the session expires; default 30 */
  readonly expires_in?: number | string | undefined;
  /** What the card becomes; default capture */
  readonly result?: "capture" | "token" | undefined;
  /** With capture: the amount */
  readonly amount?: number | string | undefined;
  /** ISO 4217 code, in either case */
  readonly currency?: string | undefined;
  /** With capture: any further fields */
  readonly additional_info?: Readonly<Record<string, unknown>> | undefined;
  /** With capture: minutes from completion until it ends */
  readonly ttl?: number | string | undefined;
  /** Token format: 1 (sixTOKENfour), 3 (sixANTOKENfour), 7 (UUID), 8 (LuhnValid) */
  readonly scheme?: 1 | 3 | 7 | 8 | "1" | "3" | "7" | "8" | undefined;
  /** With token: give the same token for the same card number */
  readonly type?: "persistent" | undefined;
  /** With token: keep the first 8 digits */
  readonly isEightDigitsBin?: boolean | undefined;
  /** With token: its tags */
  readonly tags?: readonly string[] | undefined;
  readonly fields?: {
    /** Cardholder name; default required */
    readonly name?: "required" | "optional" | "hidden" | undefined;
    /** Security code; default required, with token hidden */
    readonly cvv?: "required" | "optional" | "hidden" | undefined;
  } | undefined;
  /** Accepted brands; absent: all, also unknown ones */
  readonly accepted_brands?: readonly ("visa" | "mastercard" | "amex" | "diners" | "discover" | "jcb" | "unionpay" | "maestro" | "elo" | "hipercard")[] | undefined;
  /** Language of the form; absent: the browser's, else en */
  readonly locale?: "en" | "es" | "pt" | undefined;
  /** Theme, layout, labels and variables of the form */
  readonly appearance?: unknown | undefined;
};

export type CreateCaptureSessionResponse = {
  readonly status_code: 200;
  readonly status: "success";
  readonly desc: string;
  readonly data: {
    /** Id of the session */
    readonly id: string;
    /** For the form in the browser; shown only here */
    readonly client_secret: string;
    /** Address of the hosted page; with return_url */
    readonly url?: string | undefined;
    /** open */
    readonly status: "open";
    /** When it expires */
    readonly expires_at: string;
    /** Where the calling key works */
    readonly environment: "production" | "sandbox";
  };
};

export type ShowCaptureSessionResponse = {
  readonly status_code: 200;
  readonly status: "success";
  readonly desc: string;
  readonly data: {
    /** Id of the session */
    readonly id: string;
    /** Its state */
    readonly status: "open" | "completed" | "cancelled" | "failed" | "expired";
    /** Where it lives */
    readonly environment: "production" | "sandbox";
    readonly result?: {
      readonly capture?: {
        /** Id of the capture */
        readonly id: string;
      } | undefined;
      readonly token?: {
        /** The token */
        readonly token: string;
        /** Token format */
        readonly scheme: number;
      } | undefined;
    } | undefined;
    readonly card?: {
      /** Brand, or unknown */
      readonly brand: string;
      /** Card number, first 6 and last 4 digits */
      readonly card: string;
      /** Expiry, MM/YYYY */
      readonly exp: string;
    } | undefined;
    /** Refused submissions */
    readonly attempts: number;
    /** Creation time */
    readonly created_at: string;
    /** When it expires */
    readonly expires_at: string;
    /** When it ended */
    readonly ended_at?: string | undefined;
  };
};

export type DeleteCaptureSessionResponse = {
  readonly status_code: 200;
  readonly status: "success";
  readonly desc: string;
  readonly data: {
    /** Id of the session */
    readonly id: string;
    /** cancelled */
    readonly status: "cancelled";
  };
};

export type CreatePaymentRequest = {
  readonly transaction_info: {
    /** authorization, or payment: authorized and captured in one */
    readonly type: "authorization" | "payment";
    /** The caller’s reference */
    readonly reference_code?: string | undefined;
  };
  /** The card; each field is a value or exactly one placeholder */
  readonly card: {
    /** Card number, 12 to 19 digits; blanks and dashes in a string are dropped. No digit of a number is lost., or a placeholder: {{TOKEN:detokenize}}, {{CAPTURE:transaction}} */
    readonly number: string;
    /** Expiry, MM/YYYY or MM/YY, or a placeholder: {{TOKEN:detokenize}}, {{CAPTURE:transaction}} */
    readonly expiration_date: string;
    /** Security code of the card, 3 or 4 digits, or a placeholder: {{TOKEN:detokenize}}, {{CAPTURE:transaction}} */
    readonly security_code?: string | undefined;
    /** Cardholder name, or a placeholder: {{TOKEN:detokenize}}, {{CAPTURE:transaction}} */
    readonly holder?: string | undefined;
  };
  readonly order_info: {
    readonly amount_details: {
      /** In units of the currency, up to 12 digits before the point and no more places after it than the currency has */
      readonly total_amount: number | string;
      /** ISO 4217 code, in either case */
      readonly currency: string;
      /** In units of the currency, up to 12 digits before the point and no more places after it than the currency has */
      readonly items_amount?: number | string | undefined;
    };
    /** Number of installments */
    readonly installments?: number | string | undefined;
    /** What the cardholder reads on the statement */
    readonly descriptor?: string | undefined;
    /** What is bought */
    readonly line_items?: readonly unknown[] | undefined;
  };
  /** The cardholder; required unless bill_to is given */
  readonly cardholder_info?: {
    /** First name */
    readonly first_name?: string | undefined;
    /** Last name */
    readonly last_name?: string | undefined;
    /** Country, ISO 3166 alpha-2 */
    readonly country?: string | undefined;
    /** Street and number */
    readonly address_1?: string | undefined;
    /** More of the address */
    readonly address_2?: string | undefined;
    /** City */
    readonly city?: string | undefined;
    /** State or province */
    readonly state?: string | undefined;
    /** Postal code */
    readonly postal_code?: string | undefined;
    /** Email address */
    readonly email?: string | undefined;
    /** Phone number */
    readonly phone_number?: string | undefined;
    /** Type of the phone */
    readonly phone_type?: string | undefined;
    /** Area code of the phone */
    readonly phone_area_code?: string | undefined;
    readonly document?: {
      /** Type of the identity document */
      readonly type?: string | undefined;
      /** Its number */
      readonly number?: string | undefined;
      /** Where it was issued */
      readonly nationality?: string | undefined;
    } | undefined;
  } | undefined;
  /** The billing party; required unless cardholder_info is given */
  readonly bill_to?: {
    /** First name */
    readonly first_name?: string | undefined;
    /** Last name */
    readonly last_name?: string | undefined;
    /** Country, ISO 3166 alpha-2 */
    readonly country?: string | undefined;
    /** Street and number */
    readonly address_1?: string | undefined;
    /** More of the address */
    readonly address_2?: string | undefined;
    /** City */
    readonly city?: string | undefined;
    /** State or province */
    readonly state?: string | undefined;
    /** Postal code */
    readonly postal_code?: string | undefined;
    /** Email address */
    readonly email?: string | undefined;
    /** Phone number */
    readonly phone_number?: string | undefined;
    /** Type of the phone */
    readonly phone_type?: string | undefined;
    /** Area code of the phone */
    readonly phone_area_code?: string | undefined;
    readonly document?: {
      /** Type of the identity document */
      readonly type?: string | undefined;
      /** Its number */
      readonly number?: string | undefined;
      /** Where it was issued */
      readonly nationality?: string | undefined;
    } | undefined;
  } | undefined;
  readonly device_info?: {
    /** Address of the cardholder’s device */
    readonly ip_address?: string | undefined;
    /** Session of the device fingerprint */
    readonly fingerprint_session_id?: string | undefined;
  } | undefined;
  /** What is bought */
  readonly line_items?: readonly unknown[] | undefined;
};

export type CreatePaymentResponse = {
  /** success: approved or accepted; Fail: declined; Error: processor error, or outcome of a capture, refund or void unknown */
  readonly status: "success" | "Fail" | "Error";
  /** Short description */
  readonly message: string;
  readonly data: {
    readonly transaction_info: {
      /** What is answered: the type of the request with _response, or transaction_details_response */
      readonly type: string;
      /** Lookup only: what this transaction is; expiry for what the clock ended */
      readonly operation?: "authorization" | "payment" | "capture" | "payment_refund" | "authorization_void" | "expiry" | undefined;
      /** Lookup only: how this transaction went */
      readonly operation_status?: "in_progress" | "succeeded" | "failed" | undefined;
      /** The caller’s reference; absent when none was given */
      readonly reference_code?: string | undefined;
      /** Id of this transaction */
      readonly transaction_id: string;
      /** Id of the payment: the transaction_id of its authorization or payment */
      readonly payment_id: string;
      /** Id that the processor gave to this transaction; ours until it gives one */
      readonly request_id: string;
      /** How the payment stands */
      readonly status: "Opened" | "Authorized" | "Collected" | "Cancelled" | "Voided" | "Declined" | "ProcessorError";
      /** Why it was declined or failed */
      readonly reason?: "Rejected" | "InsufficientFunds" | "InvalidCard" | "Referred" | "ExpiredCard" | "StolenCard" | "InvalidData" | "Antifraud" | "InvalidConfiguration" | "Undefined" | "ConnectionRejected" | undefined;
      /** Response code; absent while there is none */
      readonly response_code?: string | undefined;
      /** Id for reconciliation */
      readonly reconciliation_id: string;
      /** When this transaction was requested */
      readonly created_at: string;
    };
    readonly order_info: {
      readonly amount_details: {
        /** Capture and refund: amount of this transaction */
        readonly total_amount?: number | undefined;
        /** What was authorized; 0 until then */
        readonly authorized_amount?: number | undefined;
        /** Lookup: what was captured */
        readonly collected_amount?: number | undefined;
        /** Refund and lookup: what was given back so far */
        readonly refunded_amount?: number | undefined;
        /** ISO 4217 code */
        readonly currency: string;
      };
    };
    readonly processor_info: {
      /** Authorization code, when the processor returns it */
      readonly approval_code?: string | undefined;
      /** Id given by the processor’s network or acquirer */
      readonly transaction_id?: string | undefined;
      readonly avs?: {
        /** Result of address verification */
        readonly code: string;
        /** As it came */
        readonly codeRaw: string;
      } | undefined;
    };
    readonly card?: {
      /** Permanent token of the card that the payment brought in clear */
      readonly token: string;
      /** Card number, first 6 and last 4 digits */
      readonly card: string;
      /** Format of the token */
      readonly scheme: number;
    } | undefined;
  };
};

export type PaymentsFailure = {
  readonly status: string;
  readonly message: string;
  readonly data: {
    readonly code: string;
    readonly description: string;
    readonly path: string;
  };
};

export type CapturePaymentRequest = {
  readonly transaction_info: {
    /** capture */
    readonly type: "capture";
    /** The caller’s reference */
    readonly reference_code?: string | undefined;
  };
  /** The amount to capture; absent: all of it */
  readonly capture_info?: {
    readonly amount_details?: {
      /** In units of the currency, up to 12 digits before the point and no more places after it than the currency has */
      readonly total_amount: number | string;
      /** ISO 4217 code, in either case */
      readonly currency?: string | undefined;
    } | undefined;
  } | undefined;
};

export type CapturePaymentResponse = {
  /** success: approved or accepted; Fail: declined; Error: processor error, or outcome of a capture, refund or void unknown */
  readonly status: "success" | "Fail" | "Error";
  /** Short description */
  readonly message: string;
  readonly data: {
    readonly transaction_info: {
      /** What is answered: the type of the request with _response, or transaction_details_response */
      readonly type: string;
      /** Lookup only: what this transaction is; expiry for what the clock ended */
      readonly operation?: "authorization" | "payment" | "capture" | "payment_refund" | "authorization_void" | "expiry" | undefined;
      /** Lookup only: how this transaction went */
      readonly operation_status?: "in_progress" | "succeeded" | "failed" | undefined;
      /** The caller’s reference; absent when none was given */
      readonly reference_code?: string | undefined;
      /** Id of this transaction */
      readonly transaction_id: string;
      /** Id of the payment: the transaction_id of its authorization or payment */
      readonly payment_id: string;
      /** Id that the processor gave to this transaction; ours until it gives one */
      readonly request_id: string;
      /** How the payment stands */
      readonly status: "Opened" | "Authorized" | "Collected" | "Cancelled" | "Voided" | "Declined" | "ProcessorError";
      /** Why it was declined or failed */
      readonly reason?: "Rejected" | "InsufficientFunds" | "InvalidCard" | "Referred" | "ExpiredCard" | "StolenCard" | "InvalidData" | "Antifraud" | "InvalidConfiguration" | "Undefined" | "ConnectionRejected" | undefined;
      /** Response code; absent while there is none */
      readonly response_code?: string | undefined;
      /** Id for reconciliation */
      readonly reconciliation_id: string;
      /** When this transaction was requested */
      readonly created_at: string;
    };
    readonly order_info: {
      readonly amount_details: {
        /** Capture and refund: amount of this transaction */
        readonly total_amount?: number | undefined;
        /** What was authorized; 0 until then */
        readonly authorized_amount?: number | undefined;
        /** Lookup: what was captured */
        readonly collected_amount?: number | undefined;
        /** Refund and lookup: what was given back so far */
        readonly refunded_amount?: number | undefined;
        /** ISO 4217 code */
        readonly currency: string;
      };
    };
    readonly processor_info: {
      /** Authorization code, when the processor returns it */
      readonly approval_code?: string | undefined;
      /** Id given by the processor’s network or acquirer */
      readonly transaction_id?: string | undefined;
      readonly avs?: {
        /** Result of address verification */
        readonly code: string;
        /** As it came */
        readonly codeRaw: string;
      } | undefined;
    };
    readonly card?: {
      /** Permanent token of the card that the payment brought in clear */
      readonly token: string;
      /** Card number, first 6 and last 4 digits */
      readonly card: string;
      /** Format of the token */
      readonly scheme: number;
    } | undefined;
  };
};

export type RefundPaymentRequest = {
  readonly transaction_info: {
    /** payment_refund */
    readonly type: "payment_refund";
    /** The caller’s reference */
    readonly reference_code?: string | undefined;
  };
  /** The amount to give back; absent: all of it */
  readonly refund_info?: {
    readonly amount_details?: {
      /** In units of the currency, up to 12 digits before the point and no more places after it than the currency has */
      readonly total_amount: number | string;
      /** ISO 4217 code, in either case */
      readonly currency?: string | undefined;
    } | undefined;
  } | undefined;
};

export type RefundPaymentResponse = {
  /** success: approved or accepted; Fail: declined; Error: processor error, or outcome of a capture, refund or void unknown */
  readonly status: "success" | "Fail" | "Error";
  /** Short description */
  readonly message: string;
  readonly data: {
    readonly transaction_info: {
      /** What is answered: the type of the request with _response, or transaction_details_response */
      readonly type: string;
      /** Lookup only: what this transaction is; expiry for what the clock ended */
      readonly operation?: "authorization" | "payment" | "capture" | "payment_refund" | "authorization_void" | "expiry" | undefined;
      /** Lookup only: how this transaction went */
      readonly operation_status?: "in_progress" | "succeeded" | "failed" | undefined;
      /** The caller’s reference; absent when none was given */
      readonly reference_code?: string | undefined;
      /** Id of this transaction */
      readonly transaction_id: string;
      /** Id of the payment: the transaction_id of its authorization or payment */
      readonly payment_id: string;
      /** Id that the processor gave to this transaction; ours until it gives one */
      readonly request_id: string;
      /** How the payment stands */
      readonly status: "Opened" | "Authorized" | "Collected" | "Cancelled" | "Voided" | "Declined" | "ProcessorError";
      /** Why it was declined or failed */
      readonly reason?: "Rejected" | "InsufficientFunds" | "InvalidCard" | "Referred" | "ExpiredCard" | "StolenCard" | "InvalidData" | "Antifraud" | "InvalidConfiguration" | "Undefined" | "ConnectionRejected" | undefined;
      /** Response code; absent while there is none */
      readonly response_code?: string | undefined;
      /** Id for reconciliation */
      readonly reconciliation_id: string;
      /** When this transaction was requested */
      readonly created_at: string;
    };
    readonly order_info: {
      readonly amount_details: {
        /** Capture and refund: amount of this transaction */
        readonly total_amount?: number | undefined;
        /** What was authorized; 0 until then */
        readonly authorized_amount?: number | undefined;
        /** Lookup: what was captured */
        readonly collected_amount?: number | undefined;
        /** Refund and lookup: what was given back so far */
        readonly refunded_amount?: number | undefined;
        /** ISO 4217 code */
        readonly currency: string;
      };
    };
    readonly processor_info: {
      /** Authorization code, when the processor returns it */
      readonly approval_code?: string | undefined;
      /** Id given by the processor’s network or acquirer */
      readonly transaction_id?: string | undefined;
      readonly avs?: {
        /** Result of address verification */
        readonly code: string;
        /** As it came */
        readonly codeRaw: string;
      } | undefined;
    };
    readonly card?: {
      /** Permanent token of the card that the payment brought in clear */
      readonly token: string;
      /** Card number, first 6 and last 4 digits */
      readonly card: string;
      /** Format of the token */
      readonly scheme: number;
    } | undefined;
  };
};

export type VoidPaymentRequest = {
  readonly transaction_info: {
    /** authorization_void */
    readonly type: "authorization_void";
    /** The caller’s reference */
    readonly reference_code?: string | undefined;
  };
};

export type VoidPaymentResponse = {
  /** success: approved or accepted; Fail: declined; Error: processor error, or outcome of a capture, refund or void unknown */
  readonly status: "success" | "Fail" | "Error";
  /** Short description */
  readonly message: string;
  readonly data: {
    readonly transaction_info: {
      /** What is answered: the type of the request with _response, or transaction_details_response */
      readonly type: string;
      /** Lookup only: what this transaction is; expiry for what the clock ended */
      readonly operation?: "authorization" | "payment" | "capture" | "payment_refund" | "authorization_void" | "expiry" | undefined;
      /** Lookup only: how this transaction went */
      readonly operation_status?: "in_progress" | "succeeded" | "failed" | undefined;
      /** The caller’s reference; absent when none was given */
      readonly reference_code?: string | undefined;
      /** Id of this transaction */
      readonly transaction_id: string;
      /** Id of the payment: the transaction_id of its authorization or payment */
      readonly payment_id: string;
      /** Id that the processor gave to this transaction; ours until it gives one */
      readonly request_id: string;
      /** How the payment stands */
      readonly status: "Opened" | "Authorized" | "Collected" | "Cancelled" | "Voided" | "Declined" | "ProcessorError";
      /** Why it was declined or failed */
      readonly reason?: "Rejected" | "InsufficientFunds" | "InvalidCard" | "Referred" | "ExpiredCard" | "StolenCard" | "InvalidData" | "Antifraud" | "InvalidConfiguration" | "Undefined" | "ConnectionRejected" | undefined;
      /** Response code; absent while there is none */
      readonly response_code?: string | undefined;
      /** Id for reconciliation */
      readonly reconciliation_id: string;
      /** When this transaction was requested */
      readonly created_at: string;
    };
    readonly order_info: {
      readonly amount_details: {
        /** Capture and refund: amount of this transaction */
        readonly total_amount?: number | undefined;
        /** What was authorized; 0 until then */
        readonly authorized_amount?: number | undefined;
        /** Lookup: what was captured */
        readonly collected_amount?: number | undefined;
        /** Refund and lookup: what was given back so far */
        readonly refunded_amount?: number | undefined;
        /** ISO 4217 code */
        readonly currency: string;
      };
    };
    readonly processor_info: {
      /** Authorization code, when the processor returns it */
      readonly approval_code?: string | undefined;
      /** Id given by the processor’s network or acquirer */
      readonly transaction_id?: string | undefined;
      readonly avs?: {
        /** Result of address verification */
        readonly code: string;
        /** As it came */
        readonly codeRaw: string;
      } | undefined;
    };
    readonly card?: {
      /** Permanent token of the card that the payment brought in clear */
      readonly token: string;
      /** Card number, first 6 and last 4 digits */
      readonly card: string;
      /** Format of the token */
      readonly scheme: number;
    } | undefined;
  };
};

export type ShowPaymentResponse = {
  /** success: approved or accepted; Fail: declined; Error: processor error, or outcome of a capture, refund or void unknown */
  readonly status: "success" | "Fail" | "Error";
  /** Short description */
  readonly message: string;
  readonly data: {
    readonly transaction_info: {
      /** What is answered: the type of the request with _response, or transaction_details_response */
      readonly type: string;
      /** Lookup only: what this transaction is; expiry for what the clock ended */
      readonly operation?: "authorization" | "payment" | "capture" | "payment_refund" | "authorization_void" | "expiry" | undefined;
      /** Lookup only: how this transaction went */
      readonly operation_status?: "in_progress" | "succeeded" | "failed" | undefined;
      /** The caller’s reference; absent when none was given */
      readonly reference_code?: string | undefined;
      /** Id of this transaction */
      readonly transaction_id: string;
      /** Id of the payment: the transaction_id of its authorization or payment */
      readonly payment_id: string;
      /** Id that the processor gave to this transaction; ours until it gives one */
      readonly request_id: string;
      /** How the payment stands */
      readonly status: "Opened" | "Authorized" | "Collected" | "Cancelled" | "Voided" | "Declined" | "ProcessorError";
      /** Why it was declined or failed */
      readonly reason?: "Rejected" | "InsufficientFunds" | "InvalidCard" | "Referred" | "ExpiredCard" | "StolenCard" | "InvalidData" | "Antifraud" | "InvalidConfiguration" | "Undefined" | "ConnectionRejected" | undefined;
      /** Response code; absent while there is none */
      readonly response_code?: string | undefined;
      /** Id for reconciliation */
      readonly reconciliation_id: string;
      /** When this transaction was requested */
      readonly created_at: string;
    };
    readonly order_info: {
      readonly amount_details: {
        /** Capture and refund: amount of this transaction */
        readonly total_amount?: number | undefined;
        /** What was authorized; 0 until then */
        readonly authorized_amount?: number | undefined;
        /** Lookup: what was captured */
        readonly collected_amount?: number | undefined;
        /** Refund and lookup: what was given back so far */
        readonly refunded_amount?: number | undefined;
        /** ISO 4217 code */
        readonly currency: string;
      };
    };
    readonly processor_info: {
      /** Authorization code, when the processor returns it */
      readonly approval_code?: string | undefined;
      /** Id given by the processor’s network or acquirer */
      readonly transaction_id?: string | undefined;
      readonly avs?: {
        /** Result of address verification */
        readonly code: string;
        /** As it came */
        readonly codeRaw: string;
      } | undefined;
    };
    readonly card?: {
      /** Permanent token of the card that the payment brought in clear */
      readonly token: string;
      /** Card number, first 6 and last 4 digits */
      readonly card: string;
      /** Format of the token */
      readonly scheme: number;
    } | undefined;
  };
};

export type ProxyJoseRequest = {
  /** Card data, most of it placeholders */
  readonly cardData?: Readonly<Record<string, unknown>> | undefined;
  /** References of the purchase */
  readonly references?: readonly (Readonly<Record<string, unknown>>)[] | undefined;
};

export type ProxyJoseResponse = {
  readonly status: 200;
  readonly data: {
    /** The encrypted payload: JWE in compact form, for the processor */
    readonly value: string;
    /** JWS in compact form by the merchant over `value` */
    readonly encryption: string;
    /** The payload is signed */
    readonly signed: boolean;
  };
};

export type ProxyFailure = {
  readonly status_code: number;
  readonly status: "fail";
  readonly description: string;
  readonly data: "";
};

export type ProxyWssecResponse = {
  readonly status: 200;
  readonly data: {
    /** The SOAP envelope */
    readonly xml: string;
  };
};

export type ProxyHashResponse = {
  readonly status: 200;
  readonly data: {
    /** Base64 of the digest */
    readonly hashValue: string;
    /** The algorithm */
    readonly hashType: "SHA256" | "SHA384" | "SHA512";
  };
};

export type CreateWebhookRequest = {
  /** Where events are sent; https */
  readonly url: string;
  /** The types to send; ["*"] for all, also those of later versions */
  readonly events: readonly string[];
  /** Free text */
  readonly description?: string | undefined;
};

export type CreateWebhookResponse = {
  readonly status_code: 200;
  readonly status: "success";
  readonly desc: string;
  readonly data: {
    /** Id of the webhook */
    readonly id: string;
    /** Where events are sent */
    readonly url: string;
    /** The selected types */
    readonly events: readonly string[];
    /** Free text */
    readonly description?: string | undefined;
    /** Whether events are sent */
    readonly status: "enabled" | "disabled";
    /** request: by a change; gone: it responded 410; failing: nothing could be delivered */
    readonly disabled_reason?: "request" | "gone" | "failing" | undefined;
    /** Creation time */
    readonly created_at: string;
    readonly last_delivery?: {
      /** Time of the attempt */
      readonly at: string;
      /** Status of the response, when there was one */
      readonly status_code?: number | undefined;
      /** Why the attempt failed */
      readonly error?: "address" | "connect" | "tls" | "timeout" | "status" | undefined;
    } | undefined;
    /** Verifies signatures; shown only here */
    readonly secret: string;
  };
};

export type ListWebhooksResponse = {
  readonly status_code: 200;
  readonly status: "success";
  readonly desc: string;
  readonly data: {
    /** The webhooks */
    readonly webhooks: readonly {
      /** Id of the webhook */
      readonly id: string;
      /** Where events are sent */
      readonly url: string;
      /** The selected types */
      readonly events: readonly string[];
      /** Free text */
      readonly description?: string | undefined;
      /** Whether events are sent */
      readonly status: "enabled" | "disabled";
      /** request: by a change; gone: it responded 410; failing: nothing could be delivered */
      readonly disabled_reason?: "request" | "gone" | "failing" | undefined;
      /** Creation time */
      readonly created_at: string;
      readonly last_delivery?: {
        /** Time of the attempt */
        readonly at: string;
        /** Status of the response, when there was one */
        readonly status_code?: number | undefined;
        /** Why the attempt failed */
        readonly error?: "address" | "connect" | "tls" | "timeout" | "status" | undefined;
      } | undefined;
    }[];
  };
};

export type ShowWebhookResponse = {
  readonly status_code: 200;
  readonly status: "success";
  readonly desc: string;
  readonly data: {
    /** Id of the webhook */
    readonly id: string;
    /** Where events are sent */
    readonly url: string;
    /** The selected types */
    readonly events: readonly string[];
    /** Free text */
    readonly description?: string | undefined;
    /** Whether events are sent */
    readonly status: "enabled" | "disabled";
    /** request: by a change; gone: it responded 410; failing: nothing could be delivered */
    readonly disabled_reason?: "request" | "gone" | "failing" | undefined;
    /** Creation time */
    readonly created_at: string;
    readonly last_delivery?: {
      /** Time of the attempt */
      readonly at: string;
      /** Status of the response, when there was one */
      readonly status_code?: number | undefined;
      /** Why the attempt failed */
      readonly error?: "address" | "connect" | "tls" | "timeout" | "status" | undefined;
    } | undefined;
  };
};

export type UpdateWebhookRequest = {
  /** Where events are sent; https */
  readonly url?: string | undefined;
  /** The types to send; ["*"] for all, also those of later versions */
  readonly events?: readonly string[] | undefined;
  /** Free text */
  readonly description?: string | undefined;
  /** Whether events are sent */
  readonly status?: "enabled" | "disabled" | undefined;
};

export type UpdateWebhookResponse = {
  readonly status_code: 200;
  readonly status: "success";
  readonly desc: string;
  readonly data: {
    /** Id of the webhook */
    readonly id: string;
    /** Where events are sent */
    readonly url: string;
    /** The selected types */
    readonly events: readonly string[];
    /** Free text */
    readonly description?: string | undefined;
    /** Whether events are sent */
    readonly status: "enabled" | "disabled";
    /** request: by a change; gone: it responded 410; failing: nothing could be delivered */
    readonly disabled_reason?: "request" | "gone" | "failing" | undefined;
    /** Creation time */
    readonly created_at: string;
    readonly last_delivery?: {
      /** Time of the attempt */
      readonly at: string;
      /** Status of the response, when there was one */
      readonly status_code?: number | undefined;
      /** Why the attempt failed */
      readonly error?: "address" | "connect" | "tls" | "timeout" | "status" | undefined;
    } | undefined;
  };
};

export type DeleteWebhookResponse = {
  readonly status_code: 200;
  readonly status: "success";
  readonly desc: string;
  readonly data: {
    /** Id of the webhook */
    readonly id: string;
    /** success */
    readonly status: "success";
  };
};

export type RotateWebhookRequest = {
  /** Minutes for which the old secret signs too; default 60 */
  readonly overlap_minutes?: number | string | undefined;
};

export type RotateWebhookResponse = {
  readonly status_code: 200;
  readonly status: "success";
  readonly desc: string;
  readonly data: {
    /** Id of the webhook */
    readonly id: string;
    /** Verifies signatures; shown only here */
    readonly secret: string;
    /** When the old secret ends */
    readonly old_secret_until: string;
  };
};

export type TestWebhookResponse = {
  readonly status_code: 200;
  readonly status: "success";
  readonly desc: string;
  readonly data: {
    /** The webhook responded with a status of 2xx in time */
    readonly delivered: boolean;
    /** Status of the response, when there was one */
    readonly status_code?: number | undefined;
    /** Why it failed */
    readonly error?: "address" | "connect" | "tls" | "timeout" | "status" | undefined;
    /** How long the attempt took, in milliseconds */
    readonly duration_ms: number;
  };
};

export type ListDeliveriesResponse = {
  readonly status_code: 200;
  readonly status: "success";
  readonly desc: string;
  readonly data: {
    /** The deliveries */
    readonly deliveries: readonly {
      /** Id of the event: webhook-id of every attempt */
      readonly event_id: string;
      /** Type of the event */
      readonly type: string;
      /** Time of the event */
      readonly created_at: string;
      /** waiting for its next attempt, delivered, or failed */
      readonly status: "waiting" | "delivered" | "failed";
      /** Attempts so far */
      readonly attempts: number;
      /** Time of the last attempt */
      readonly last_attempt_at?: string | undefined;
      /** Status of its response, when there was one */
      readonly last_status_code?: number | undefined;
      /** Why it failed */
      readonly last_error?: "address" | "connect" | "tls" | "timeout" | "status" | undefined;
      /** Time of the next attempt */
      readonly next_attempt_at?: string | undefined;
    }[];
  };
};

export type ReplayWebhookRequest = {
  /** Id of the event of any delivery */
  readonly event_id?: string | undefined;
  /** Time, ISO 8601: all deliveries of events since then that failed */
  readonly since?: string | undefined;
};

export type ReplayWebhookResponse = {
  readonly status_code: 200;
  readonly status: "success";
  readonly desc: string;
  readonly data: {
    /** Deliveries that will be sent again */
    readonly count: number;
  };
};

export type ShowAccountResponse = {
  readonly status_code: 200;
  readonly status: "success";
  readonly desc: string;
  readonly data: {
    /** Id of the account */
    readonly id: string;
    /** Name of the account */
    readonly name: string;
    /** Where the calling key works */
    readonly environment: "production" | "sandbox";
    /** How far the account is */
    readonly status: "onboarding" | "sandbox" | "live" | "suspended";
    readonly enabled: {
      /** Payments are enabled here */
      readonly payments: boolean;
      /** The JOSE proxy is configured */
      readonly jose: boolean;
      /** The WS-Security proxy is configured */
      readonly wssec: boolean;
    };
    /** The processor of payments; null without one */
    readonly processor: string | null;
    readonly key: {
      /** Id of the calling key */
      readonly id: string;
      /** Its name */
      readonly name: string;
      /** Its readable beginning */
      readonly prefix: string;
      /** What it may do */
      readonly permissions: readonly string[];
      /** Where it may be used from */
      readonly allow_list: readonly {
        /** Address or network */
        readonly cidr: string;
        /** Why it is there */
        readonly note: string;
      }[];
      /** When it ends; null when it does not */
      readonly expires_at: string | null;
      /** When it was last used before this request; null when never */
      readonly last_used_at: string | null;
    };
  };
};

export type GetAccountResponse = {
  readonly status_code: 200;
  readonly status: "success";
  readonly desc: string;
  readonly data: {
    /** Id of the account */
    readonly id: string;
    /** Name of the account */
    readonly name: string;
    /** Where the calling key works */
    readonly environment: "production" | "sandbox";
    /** How far the account is */
    readonly status: "onboarding" | "sandbox" | "live" | "suspended";
    readonly enabled: {
      /** Payments are enabled here */
      readonly payments: boolean;
      /** The JOSE proxy is configured */
      readonly jose: boolean;
      /** The WS-Security proxy is configured */
      readonly wssec: boolean;
    };
    /** The processor of payments; null without one */
    readonly processor: string | null;
    readonly key: {
      /** Id of the calling key */
      readonly id: string;
      /** Its name */
      readonly name: string;
      /** Its readable beginning */
      readonly prefix: string;
      /** What it may do */
      readonly permissions: readonly string[];
      /** Where it may be used from */
      readonly allow_list: readonly {
        /** Address or network */
        readonly cidr: string;
        /** Why it is there */
        readonly note: string;
      }[];
      /** When it ends; null when it does not */
      readonly expires_at: string | null;
      /** When it was last used before this request; null when never */
      readonly last_used_at: string | null;
    };
  };
};

/** The operations of the interface by their ids. */
export interface Operations {
  readonly tokenizeCards: {
    readonly method: "POST";
    readonly path: "/v1/tokenization/simple";
    readonly query: undefined;
    readonly headers: {
      /** The same key with the same request gives the first response again, for 24 hours, and has no second effect. */
      readonly "Idempotency-Key"?: string | undefined;
    };
    readonly body: TokenizeCardsRequest;
    readonly response: TokenizeCardsResponse;
  };
  readonly inspectToken: {
    readonly method: "GET";
    readonly path: "/v1/tokens/{token}/inspect";
    readonly query: undefined;
    readonly headers: undefined;
    readonly body: undefined;
    readonly response: InspectTokenResponse;
  };
  readonly deleteTokens: {
    readonly method: "DELETE";
    readonly path: "/v1/tokens";
    readonly query: undefined;
    readonly headers: {
      /** The same key with the same request gives the first response again, for 24 hours, and has no second effect. */
      readonly "Idempotency-Key"?: string | undefined;
    };
    readonly body: DeleteTokensRequest;
    readonly response: DeleteTokensResponse;
  };
  readonly createCapture: {
    readonly method: "POST";
    readonly path: "/transactions/requests";
    readonly query: undefined;
    readonly headers: {
      /** The same key with the same request gives the first response again, for 24 hours, and has no second effect. */
      readonly "Idempotency-Key"?: string | undefined;
    };
    readonly body: CreateCaptureRequest;
    readonly response: CreateCaptureResponse;
  };
  readonly tokenizeCapture: {
    readonly method: "POST";
    readonly path: "/transactions/requests/{id}/tokenize";
    readonly query: undefined;
    readonly headers: {
      /** The same key with the same request gives the first response again, for 24 hours, and has no second effect. */
      readonly "Idempotency-Key"?: string | undefined;
    };
    readonly body: TokenizeCaptureRequest;
    readonly response: TokenizeCaptureResponse;
  };
  readonly retrieveCapture: {
    readonly method: "GET";
    readonly path: "/transactions/requests/{id}";
    readonly query: undefined;
    readonly headers: undefined;
    readonly body: undefined;
    readonly response: RetrieveCaptureResponse;
  };
  readonly deleteCapture: {
    readonly method: "DELETE";
    readonly path: "/transactions/requests/{id}";
    readonly query: undefined;
    readonly headers: {
      /** The same key with the same request gives the first response again, for 24 hours, and has no second effect. */
      readonly "Idempotency-Key"?: string | undefined;
    };
    readonly body: undefined;
    readonly response: DeleteCaptureResponse;
  };
  readonly inspectCapture: {
    readonly method: "GET";
    readonly path: "/transactions/requests/{id}/inspect";
    readonly query: undefined;
    readonly headers: undefined;
    readonly body: undefined;
    readonly response: InspectCaptureResponse;
  };
  readonly createCaptureSession: {
    readonly method: "POST";
    readonly path: "/v1/capture-sessions";
    readonly query: undefined;
    readonly headers: {
      /** The same key with the same request gives the first response again, for 24 hours, and has no second effect. */
      readonly "Idempotency-Key"?: string | undefined;
    };
    readonly body: CreateCaptureSessionRequest;
    readonly response: CreateCaptureSessionResponse;
  };
  readonly showCaptureSession: {
    readonly method: "GET";
    readonly path: "/v1/capture-sessions/{id}";
    readonly query: undefined;
    readonly headers: undefined;
    readonly body: undefined;
    readonly response: ShowCaptureSessionResponse;
  };
  readonly deleteCaptureSession: {
    readonly method: "DELETE";
    readonly path: "/v1/capture-sessions/{id}";
    readonly query: undefined;
    readonly headers: {
      /** The same key with the same request gives the first response again, for 24 hours, and has no second effect. */
      readonly "Idempotency-Key"?: string | undefined;
    };
    readonly body: undefined;
    readonly response: DeleteCaptureSessionResponse;
  };
  readonly createPayment: {
    readonly method: "POST";
    readonly path: "/v1/payments";
    readonly query: undefined;
    readonly headers: {
      /** The same key with the same request gives the first response again, for 24 hours, and has no second effect. */
      readonly "Idempotency-Key"?: string | undefined;
    };
    readonly body: CreatePaymentRequest;
    readonly response: CreatePaymentResponse;
  };
  readonly capturePayment: {
    readonly method: "POST";
    readonly path: "/v1/payments/{id}/capture";
    readonly query: undefined;
    readonly headers: {
      /** The same key with the same request gives the first response again, for 24 hours, and has no second effect. */
      readonly "Idempotency-Key"?: string | undefined;
    };
    readonly body: CapturePaymentRequest;
    readonly response: CapturePaymentResponse;
  };
  readonly refundPayment: {
    readonly method: "POST";
    readonly path: "/v1/payments/{id}/refund";
    readonly query: undefined;
    readonly headers: {
      /** The same key with the same request gives the first response again, for 24 hours, and has no second effect. */
      readonly "Idempotency-Key"?: string | undefined;
    };
    readonly body: RefundPaymentRequest;
    readonly response: RefundPaymentResponse;
  };
  readonly voidPayment: {
    readonly method: "POST";
    readonly path: "/v1/payments/{id}/void";
    readonly query: undefined;
    readonly headers: {
      /** The same key with the same request gives the first response again, for 24 hours, and has no second effect. */
      readonly "Idempotency-Key"?: string | undefined;
    };
    readonly body: VoidPaymentRequest;
    readonly response: VoidPaymentResponse;
  };
  readonly showPayment: {
    readonly method: "GET";
    readonly path: "/v1/payments/transactions/{id}";
    readonly query: undefined;
    readonly headers: undefined;
    readonly body: undefined;
    readonly response: ShowPaymentResponse;
  };
  readonly proxyJose: {
    readonly method: "POST";
    readonly path: "/proxy/jose";
    readonly query: undefined;
    readonly headers: {
      /** How values marked with `encrypt` are encrypted: a JSON object with `key` (RSA public key, PEM or base64 of DER; default: the processor’s key of the account), `type` (`RSA`: OAEP with SHA-256, `RSA-OAEP`: OAEP with SHA-1, `RSA-PKCS1`; default `RSA`) and `is_partial` (false: every replaced value; default true). */
      readonly "ft-encryption"?: {
        /** RSA public key, PEM or base64 of DER */
        readonly key?: string | undefined;
        /** The padding; default RSA */
        readonly type?: "RSA" | "RSA-OAEP" | "RSA-PKCS1" | undefined;
        /** False: every replaced value is encrypted; default true */
        readonly is_partial?: boolean | undefined;
      } | undefined;
      /** The same key with the same request gives the first response again, for 24 hours, and has no second effect. */
      readonly "Idempotency-Key"?: string | undefined;
    };
    readonly body: ProxyJoseRequest;
    readonly response: ProxyJoseResponse;
  };
  readonly proxyWssec: {
    readonly method: "POST";
    readonly path: "/proxy/wssec";
    readonly query: undefined;
    readonly headers: {
      /** How values marked with `encrypt` are encrypted: a JSON object with `key` (RSA public key, PEM or base64 of DER; default: the processor’s key of the account), `type` (`RSA`: OAEP with SHA-256, `RSA-OAEP`: OAEP with SHA-1, `RSA-PKCS1`; default `RSA`) and `is_partial` (false: every replaced value; default true). */
      readonly "ft-encryption"?: {
        /** RSA public key, PEM or base64 of DER */
        readonly key?: string | undefined;
        /** The padding; default RSA */
        readonly type?: "RSA" | "RSA-OAEP" | "RSA-PKCS1" | undefined;
        /** False: every replaced value is encrypted; default true */
        readonly is_partial?: boolean | undefined;
      } | undefined;
      /** The same key with the same request gives the first response again, for 24 hours, and has no second effect. */
      readonly "Idempotency-Key"?: string | undefined;
    };
    readonly body: string | Uint8Array;
    readonly response: ProxyWssecResponse;
  };
  readonly proxyHash: {
    readonly method: "POST";
    readonly path: "/proxy/hash";
    readonly query: {
      /** The algorithm */
      readonly type: "SHA256" | "SHA384" | "SHA512";
    };
    readonly headers: {
      /** How values marked with `encrypt` are encrypted: a JSON object with `key` (RSA public key, PEM or base64 of DER; default: the processor’s key of the account), `type` (`RSA`: OAEP with SHA-256, `RSA-OAEP`: OAEP with SHA-1, `RSA-PKCS1`; default `RSA`) and `is_partial` (false: every replaced value; default true). */
      readonly "ft-encryption"?: {
        /** RSA public key, PEM or base64 of DER */
        readonly key?: string | undefined;
        /** The padding; default RSA */
        readonly type?: "RSA" | "RSA-OAEP" | "RSA-PKCS1" | undefined;
        /** False: every replaced value is encrypted; default true */
        readonly is_partial?: boolean | undefined;
      } | undefined;
      /** The same key with the same request gives the first response again, for 24 hours, and has no second effect. */
      readonly "Idempotency-Key"?: string | undefined;
    };
    readonly body: string | Uint8Array;
    readonly response: ProxyHashResponse;
  };
  readonly createWebhook: {
    readonly method: "POST";
    readonly path: "/v1/webhooks";
    readonly query: undefined;
    readonly headers: {
      /** The same key with the same request gives the first response again, for 24 hours, and has no second effect. */
      readonly "Idempotency-Key"?: string | undefined;
    };
    readonly body: CreateWebhookRequest;
    readonly response: CreateWebhookResponse;
  };
  readonly listWebhooks: {
    readonly method: "GET";
    readonly path: "/v1/webhooks";
    readonly query: undefined;
    readonly headers: undefined;
    readonly body: undefined;
    readonly response: ListWebhooksResponse;
  };
  readonly showWebhook: {
    readonly method: "GET";
    readonly path: "/v1/webhooks/{id}";
    readonly query: undefined;
    readonly headers: undefined;
    readonly body: undefined;
    readonly response: ShowWebhookResponse;
  };
  readonly updateWebhook: {
    readonly method: "POST";
    readonly path: "/v1/webhooks/{id}";
    readonly query: undefined;
    readonly headers: {
      /** The same key with the same request gives the first response again, for 24 hours, and has no second effect. */
      readonly "Idempotency-Key"?: string | undefined;
    };
    readonly body: UpdateWebhookRequest;
    readonly response: UpdateWebhookResponse;
  };
  readonly deleteWebhook: {
    readonly method: "DELETE";
    readonly path: "/v1/webhooks/{id}";
    readonly query: undefined;
    readonly headers: {
      /** The same key with the same request gives the first response again, for 24 hours, and has no second effect. */
      readonly "Idempotency-Key"?: string | undefined;
    };
    readonly body: undefined;
    readonly response: DeleteWebhookResponse;
  };
  readonly rotateWebhook: {
    readonly method: "POST";
    readonly path: "/v1/webhooks/{id}/rotate";
    readonly query: undefined;
    readonly headers: {
      /** The same key with the same request gives the first response again, for 24 hours, and has no second effect. */
      readonly "Idempotency-Key"?: string | undefined;
    };
    readonly body: RotateWebhookRequest;
    readonly response: RotateWebhookResponse;
  };
  readonly testWebhook: {
    readonly method: "POST";
    readonly path: "/v1/webhooks/{id}/test";
    readonly query: undefined;
    readonly headers: {
      /** The same key with the same request gives the first response again, for 24 hours, and has no second effect. */
      readonly "Idempotency-Key"?: string | undefined;
    };
    readonly body: undefined;
    readonly response: TestWebhookResponse;
  };
  readonly listDeliveries: {
    readonly method: "GET";
    readonly path: "/v1/webhooks/{id}/deliveries";
    readonly query: {
      /** Only deliveries of this status */
      readonly status?: "waiting" | "delivered" | "failed" | undefined;
      /** The event_id of the last delivery of the page before */
      readonly before?: string | undefined;
    };
    readonly headers: undefined;
    readonly body: undefined;
    readonly response: ListDeliveriesResponse;
  };
  readonly replayWebhook: {
    readonly method: "POST";
    readonly path: "/v1/webhooks/{id}/replay";
    readonly query: undefined;
    readonly headers: {
      /** The same key with the same request gives the first response again, for 24 hours, and has no second effect. */
      readonly "Idempotency-Key"?: string | undefined;
    };
    readonly body: ReplayWebhookRequest;
    readonly response: ReplayWebhookResponse;
  };
  readonly showAccount: {
    readonly method: "POST";
    readonly path: "/v1/account";
    readonly query: undefined;
    readonly headers: {
      /** The same key with the same request gives the first response again, for 24 hours, and has no second effect. */
      readonly "Idempotency-Key"?: string | undefined;
    };
    readonly body: undefined;
    readonly response: ShowAccountResponse;
  };
  readonly getAccount: {
    readonly method: "GET";
    readonly path: "/v1/account";
    readonly query: undefined;
    readonly headers: undefined;
    readonly body: undefined;
    readonly response: GetAccountResponse;
  };
}

/** Method and path of each operation. */
export const ROUTES = {
  tokenizeCards: { method: "POST", path: "/v1/tokenization/simple" },
  inspectToken: { method: "GET", path: "/v1/tokens/{token}/inspect" },
  deleteTokens: { method: "DELETE", path: "/v1/tokens" },
  createCapture: { method: "POST", path: "/transactions/requests" },
  tokenizeCapture: { method: "POST", path: "/transactions/requests/{id}/tokenize" },
  retrieveCapture: { method: "GET", path: "/transactions/requests/{id}" },
  deleteCapture: { method: "DELETE", path: "/transactions/requests/{id}" },
  inspectCapture: { method: "GET", path: "/transactions/requests/{id}/inspect" },
  createCaptureSession: { method: "POST", path: "/v1/capture-sessions" },
  showCaptureSession: { method: "GET", path: "/v1/capture-sessions/{id}" },
  deleteCaptureSession: { method: "DELETE", path: "/v1/capture-sessions/{id}" },
  createPayment: { method: "POST", path: "/v1/payments" },
  capturePayment: { method: "POST", path: "/v1/payments/{id}/capture" },
  refundPayment: { method: "POST", path: "/v1/payments/{id}/refund" },
  voidPayment: { method: "POST", path: "/v1/payments/{id}/void" },
  showPayment: { method: "GET", path: "/v1/payments/transactions/{id}" },
  proxyJose: { method: "POST", path: "/proxy/jose" },
  proxyWssec: { method: "POST", path: "/proxy/wssec" },
  proxyHash: { method: "POST", path: "/proxy/hash" },
  createWebhook: { method: "POST", path: "/v1/webhooks" },
  listWebhooks: { method: "GET", path: "/v1/webhooks" },
  showWebhook: { method: "GET", path: "/v1/webhooks/{id}" },
  updateWebhook: { method: "POST", path: "/v1/webhooks/{id}" },
  deleteWebhook: { method: "DELETE", path: "/v1/webhooks/{id}" },
  rotateWebhook: { method: "POST", path: "/v1/webhooks/{id}/rotate" },
  testWebhook: { method: "POST", path: "/v1/webhooks/{id}/test" },
  listDeliveries: { method: "GET", path: "/v1/webhooks/{id}/deliveries" },
  replayWebhook: { method: "POST", path: "/v1/webhooks/{id}/replay" },
  showAccount: { method: "POST", path: "/v1/account" },
  getAccount: { method: "GET", path: "/v1/account" },
} as const;

/** Types of the events of webhooks. */
export const EVENT_TYPES = ["payment.authorized","payment.collected","payment.declined","payment.failed","payment.cancelled","payment.voided","payment.refunded","payment.in_doubt","payment.resolved","capture_session.completed","capture_session.failed","token.deleted","key.expiring","certificate.expiring","webhook.disabled"] as const;

