import type { Operation, Payment, Requester } from './payment.ts';
import type { InquiryResult, Outcome } from './processor.ts';
import type { FailureStatus } from './transitions.ts';

/** The events of a payment. Each is caused by one of these: a request, the processor, recovery or an operator. */
export type PaymentEvent =
  /** A client requested a payment: Opened, its first operation in progress. */
  | ({ readonly type: 'requested'; readonly order: RequestedPayment } & Pick<Operation, 'operationRef' | 'requestedBy'>)
  /** A further operation, which `validateCommand` has allowed. */
  | { readonly type: 'started'; readonly operation: Operation }
  /**
   * The processor's response to our request. `state` is the state of the payment there, inquired after a refusal, which
   * may mean that its record differs from ours.
   */
  | { readonly type: 'responded'; readonly outcome: Outcome; readonly state?: InquiryResult | undefined }
  /**
   * The result of an inquiry about the operation, in progress or completed. `hasOtherCapture`: another operation has captured
   * the payment; false only where this is known. `latestAt`: when the newest operation of the payment started.
   */
  | {
      readonly type: 'inquired';
      readonly result: InquiryResult;
      readonly hasOtherCapture?: boolean;
      readonly latestAt?: number;
    }
  /**
   * An attempt without a result. `notFound` sets or resets the count of not-found inquiries; undefined leaves it
   * unchanged. `resumeAt`: a user requested the inquiry before the payment was due. It counts for nothing, because
   * inquiries in a row say something only with the time between them, and recovery continues at that time.
   */
  | {
      readonly type: 'unanswered';
      readonly problem: string | undefined;
      readonly notFound?: boolean | undefined;
      readonly resumeAt?: number | undefined;
    }
  /** Stored before recovery sends a reversal of the operation, or its void again. */
  | { readonly type: 'taken-over'; readonly notFound?: boolean | undefined }
  /** Nothing of the operation is left at the processor. */
  | { readonly type: 'reversed'; readonly failure: FailureStatus }
  /** The processor reports a payment status that rules this operation out, for example: already captured. */
  | { readonly type: 'superseded'; readonly state: InquiryResult }
  /** A hint of the processor: recheck now. */
  | { readonly type: 'notified' }
  /** `reason`: what the user saw at the processor. */
  | {
      readonly type: 'resolved-manually';
      readonly outcome: 'accepted' | 'refused';
      readonly by: Requester;
      readonly reason: string;
    };

export type RequestedPayment = Pick<
  Payment,
  'id' | 'type' | 'processor' | 'currency' | 'amount' | 'referenceCode' | 'card' | 'captureIds'
>;
